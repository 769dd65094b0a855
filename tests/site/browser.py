"""Pages that only a browser can render, and what they try to do to it."""

from __future__ import annotations

import asyncio
from urllib.parse import parse_qs, unquote, urlsplit

from tests.site.server import Behaviour, Exchange

HTML = {"Content-Type": "text/html; charset=utf-8"}
PAGES: dict[str, Behaviour] = {}


def page(path: str, html: str, headers: dict[str, str] | None = None, status: str = "200 OK") -> None:
    """A page with this body; `{to}` in it is replaced by the query parameter `to`."""

    async def show(exchange: Exchange) -> None:
        body = "<!doctype html><title>A page</title><body>" + html.replace("{to}", target(exchange))
        await exchange.answer(body.encode(), status, HTML | (headers or {}))

    PAGES[path] = show


def target(exchange: Exchange) -> str:
    return unquote(parse_qs(urlsplit(exchange.path).query).get("to", [""])[0])


page("/plain", "<p>plain words</p>")
page(
    "/rendered",
    "<p id=p>before</p><script>document.getElementById('p').textContent = 'made by a script – ' + "
    "navigator.userAgent + (document.cookie ? ' cookie' : ' no cookie')</script>",
    {"Set-Cookie": "id=1; Path=/", "X-Robots-Tag": "noarchive", "ETag": '"1"'},
)
page(
    "/loads-more", "<p id=p>before</p><script>fetch('/data').then(a => a.text()).then(t => p.textContent = t)</script>"
)
page(
    "/tampers",
    "<p>inner</p><script>Object.defineProperty(Element.prototype, 'outerHTML', {get: () => 'evil'})</script>",
)
page(
    "/wants-cookie",
    "<p>let in</p><script>if (!document.cookie) { document.cookie = 'ok=1'; location.reload() }</script>",
)
page("/script-moves-here", "<script>location.href = '/rendered'</script>")
page("/moves-state", "<p>same page</p><script>history.pushState({}, '', '/other')</script>")
page("/reloads", "<script>location.href = '/reloads?' + Math.random()</script>")
page("/workers", "<p id=p>words</p><script>new Worker('/worker.js').onmessage = e => p.textContent = e.data</script>")
page("/shut", "<p>go away</p><script>document.body.append('challenge')</script>", status="403 Forbidden")

# ---- how a page may reach another address -----------------------------------------------------------------

page("/to/refresh", "<meta http-equiv=refresh content='0; url={to}'>")
page("/to/script", "<script>location = '{to}'</script>")
page("/to/replace", "<script>setTimeout(() => location.replace('{to}'), 100)</script>")
page("/to/iframe", "<p>page</p><iframe src='{to}'></iframe>")
page("/to/object", "<p>page</p><object data='{to}'></object><embed src='{to}'>")
page("/to/style", "<p>page</p><link rel=stylesheet href='{to}'><script src='{to}'></script>")
page(
    "/to/hints",
    "<p>page</p><link rel=preconnect href='{to}'><link rel=dns-prefetch href='{to}'><link rel=prefetch href='{to}'>",
)
page(
    "/to/fetch",
    "<p id=p>page</p><script>fetch('{to}', {mode: 'no-cors'}).then(() => p.textContent = 'reached')"
    ".catch(e => p.textContent = 'stopped')</script>",
)
page("/to/beacon", "<p>page</p><script>navigator.sendBeacon('{to}', 'x')</script>")
page(
    "/to/websocket",
    "<p id=p>page</p><script>const s = new WebSocket('{to}'.replace('http', 'ws')); s.onopen = () => p.textContent = "
    "'reached'; s.onerror = () => p.textContent = 'stopped'</script>",
)
page("/to/eventsource", "<p>page</p><script>new EventSource('{to}')</script>")
page(
    "/to/worker",
    "<p>page</p><script>new Worker(URL.createObjectURL(new Blob([\"fetch('{to}', {mode: 'no-cors'})\"])))</script>",
)
page(
    "/to/form",
    "<form action='{to}' method=post><input name=a value=b></form><script>document.forms[0].submit()</script>",
)
page("/to/popup", "<p>page</p><script>window.open('{to}')</script>")
page(
    "/to/webrtc",
    "<p>page</p><script>const c = new RTCPeerConnection({iceServers: [{urls: 'stun:{to}'}, "
    "{urls: 'turn:{to}', username: 'a', credential: 'b'}]}); c.createDataChannel('a'); "
    "c.createOffer().then(o => c.setLocalDescription(o))</script>",
)
page("/to/webtransport", "<p>page</p><script>new WebTransport('https://{to}/')</script>")

# ---- what a page may do to the browser --------------------------------------------------------------------

page("/alert", "<script>alert(1); confirm(2); prompt(3); print()</script><p>after the dialogs</p>")
page("/alert/endless", "<p>words</p><script>for (;;) alert('again')</script>")
page("/popups", "<p>words</p><script>for (let i = 0; i < 30; i++) window.open('/plain?' + i)</script>")
page(
    "/download", "<p>words</p><a id=a href='/file' download>x</a><script>a.click()</script><iframe src=/file></iframe>"
)
page("/starts/download", "<p>words</p><script>location = '/file'</script>")
page("/starts/nothing", "<p>words</p><script>location = '/nothing'</script>")
page("/starts/mail", "<p>words</p><script>location = 'mailto:us@a.example'</script>")
page("/busy-loop", "<p>words</p><script>for (;;);</script>")
page("/service-worker", "<p>words</p><script>navigator.serviceWorker?.register('/sw.js')</script>")
page("/closes", "<script>window.close(); window.open('', '_self').close()</script><p>still here</p>")
page(
    "/heavy",
    "<p>words</p><img src=/picture.png><video src=/film.mp4></video><style>@font-face {font-family: f; "
    "src: url(/f.woff)} p {font-family: f; background: url(/back.png)}</style><link rel=icon href=/icon.png>",
)
page(
    "/hints",
    "<link rel=prefetch href=/later/1><link rel=prefetch as=script href=/later/2.js><link rel=prerender href=/later/3>"
    "<link rel=preconnect href='{to}'><link rel=dns-prefetch href='{to}'><link rel=next href=/later/4>"
    "<link rel=icon href=/icon.png><link rel=apple-touch-icon href=/touch.png><link rel=manifest href=/app.json>"
    "<link rel=search type=application/opensearchdescription+xml href=/search.xml>"
    "<link rel=preload as=image href=/later/5.png><link rel=preload as=script href=/needed.js>"
    '<script type=speculationrules>{"prefetch": [{"urls": ["/later/6"], "eagerness": "immediate"}, '
    '{"where": {"href_matches": "/*"}, "eagerness": "immediate"}], '
    '"prerender": [{"urls": ["/later/7"], "eagerness": "immediate"}]}</script>'
    "<p id=p>before</p><a href=/later/8 ping=/ping>more</a><img src=/later/9.png loading=lazy>"
    "<video poster=/poster.png><track src=/words.vtt default></video><script src=/needed.js></script><script>"
    "navigator.sendBeacon('/beacon', 'x'); navigator.serviceWorker?.register('/sw.js'); new Image().src = '/pixel.gif';"
    "addEventListener('pagehide', () => navigator.sendBeacon('/beacon/end', 'x'));"
    "try { fetchLater('/later/10', {activateAfter: 0}) } catch {} try { new SharedWorker('/later/11.js') } catch {};"
    "document.querySelector('a').dispatchEvent(new PointerEvent('pointerdown'));"
    "fetch('/data').then(a => a.text()).then(t => p.textContent = t)</script>",
    {
        "Link": "</later/12>; rel=prefetch, </later/13.png>; rel=preload; as=image",
        "Speculation-Rules": '"/later/14.json"',
        "Report-To": '{"group": "a", "max_age": 99, "endpoints": [{"url": "/reports"}]}',
        "Reporting-Endpoints": 'a="/reports"',
        "NEL": '{"report_to": "a", "max_age": 99, "success_fraction": 1}',
        "Content-Security-Policy-Report-Only": "script-src 'none'; report-uri /reports; report-to a",
    },
)
_MANY = "for (let i = 0; i < 300; i++) fetch('{origin}/data?' + i, {mode: 'no-cors'})"
page("/asks-much", f"<p>words</p><script>{_MANY.replace('{origin}', '')}</script>")
page(
    "/asks-much/worker",
    '<p>words</p><script>const many = "' + _MANY + "\".replace('{origin}', location.origin);"
    "new Worker(URL.createObjectURL(new Blob([many])))</script>",
)
page("/asks-much/frame", "<p>words</p><iframe sandbox=allow-scripts src=/asks-much></iframe>")
page("/grows", "<script>document.body.append('x'.repeat(3_000_000))</script>")
page("/eats-memory", "<script>const a = []; for (;;) a.push(new Uint8Array(1 << 24).fill(1))</script>")
page("/waits-for-ever", "<p>here already</p><script async src=/silent></script>")
page("/beforeunload", "<p>words</p><script>onbeforeunload = e => { e.preventDefault(); return 'stay' }</script>")


def _sent(path: str, body: bytes, headers: dict[str, str], status: str = "200 OK") -> None:
    async def send(exchange: Exchange) -> None:
        await exchange.answer(body, status, headers)

    PAGES[path] = send


_sent("/long.txt", b"Disallow: /words\n" * 20_000, {"Content-Type": "text/plain"})
_sent("/data", b"loaded later", {"Content-Type": "text/plain", "Access-Control-Allow-Origin": "*"})
_sent("/file", b"MZ\0binary", {"Content-Type": "application/octet-stream", "Content-Disposition": "attachment"})
_sent("/feed.xml", b"<?xml version='1.0'?><rss></rss>", {"Content-Type": "application/rss+xml"})
_sent("/sw.js", b"self.addEventListener('fetch', () => {})", {"Content-Type": "text/javascript"})
_sent("/needed.js", b"", {"Content-Type": "text/javascript"})
_sent("/worker.js", b"postMessage('from a worker')", {"Content-Type": "text/javascript"})
_sent("/not-there", b"", {}, "404 Not Found")
_sent("/nothing", b"", {}, "204 No Content")
_sent("/password", b"no", {"WWW-Authenticate": 'Basic realm="x"', **HTML}, "401 Unauthorized")
_sent("/like-a-proxy", b"no", {"Proxy-Authenticate": 'Basic realm="gate"', **HTML}, "407 Proxy Authentication Required")


async def _redirect(exchange: Exchange) -> None:
    await exchange.answer(b"moved", "302 Found", {"Location": target(exchange)})


async def _cut_off(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 9000\r\n\r\n<p>half a page")
    await asyncio.sleep(0.05)
    exchange.hang_up()


async def _endless(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>" + b"words " * 2000)
    while True:
        await exchange.send(b"<p>" + b"words " * 20_000)


async def _silent(exchange: Exchange) -> None:
    await asyncio.sleep(3600)


async def _reset(exchange: Exchange) -> None:
    exchange.reset()


async def _strange_chunks(exchange: Exchange) -> None:
    await exchange.send(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: xchunked\r\nConnection: close\r\n\r\n"
        b"b\r\n<p>a page</p\r\n0\r\n\r\n"
    )
    exchange.hang_up()


PAGES |= {"/xchunked": _strange_chunks}
PAGES |= {"/to/redirect": _redirect, "/cut-off": _cut_off, "/endless": _endless, "/silent": _silent, "/reset": _reset}
