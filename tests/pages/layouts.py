"""Layouts of short pages: from bare markup to a site full of third-party scripts."""

from __future__ import annotations

from collections.abc import Callable

Layout = Callable[[str, str, str], str]
"""Language, title and body to a whole page."""


def bare(language: str, title: str, body: str) -> str:
    return f"<title>{title}</title>\n{body}\n"


def plain(language: str, title: str, body: str) -> str:
    return (
        f'<!doctype html><html lang="{language}"><head><meta charset="utf-8"><title>{title} – Lindenhof</title>'
        '<link rel="stylesheet" href="/style.css"></head><body><header><a href="/">Lindenhof</a><nav>'
        '<a href="/a">A–Z</a> <a href="/map">Map</a> <a href="/rss">RSS</a></nav></header>'
        f"<main>{body}</main><footer>© 2026 Lindenhof</footer></body></html>"
    )


def blog(language: str, title: str, body: str) -> str:
    return (
        f'<!DOCTYPE html><html lang="{language}"><head><meta charset="UTF-8"><title>{title} | Notes</title>'
        '<meta name="generator" content="WordPress 6.8"><script async src="https://www.google.com/recaptcha/api.js">'
        "</script><script>window.dataLayer=window.dataLayer||[];function gtag(){dataLayer.push(arguments)}</script>"
        '</head><body class="post-template single single-post"><noscript><iframe src="https://www.googletagmanager.com/'
        'ns.html?id=GTM-X1" height="0" width="0" style="display:none"></iframe></noscript>'
        '<div id="page" class="site"><header class="site-header"><a href="/" rel="home">Notes</a></header>'
        f'<article class="post hentry"><div class="entry-content">{body}</div></article>'
        '<aside><a href="/2026/10">10/2026</a> <a href="/2026/09">09/2026</a></aside>'
        '<form action="/search"><input type="search" name="s"></form></div></body></html>'
    )


def banner(language: str, title: str, body: str) -> str:
    """A page with a consent banner in front of it: its content is there all the same."""
    return (
        f'<!doctype html><html lang="{language}"><head><title>{title}</title><script '
        'src="https://cdn.cookielaw.org/scripttemplates/otSDKStub.js" data-domain-script="0af1"></script></head><body>'
        '<div id="onetrust-consent-sdk"><div id="onetrust-banner-sdk" role="dialog"><p>We use cookies.</p>'
        '<button id="onetrust-accept-btn-handler">Accept all</button><button>Settings</button></div></div>'
        f'<div id="content">{body}</div></body></html>'
    )


def app(language: str, title: str, body: str) -> str:
    """A server-rendered application."""
    return (
        f'<!DOCTYPE html><html lang="{language}"><head><meta charset="utf-8"/><title>{title}</title>'
        '<link rel="preload" href="/_next/static/chunks/main-4f2a.js" as="script"/></head><body>'
        "<noscript>You need to enable JavaScript to run this app.</noscript>"
        f'<div id="__next"><div class="layout">{body}</div></div>'
        '<script id="__NEXT_DATA__" type="application/json">{"props":{"pageProps":{}},"page":"/[slug]"}</script>'
        '<script src="/_next/static/chunks/main-4f2a.js" async></script></body></html>'
    )


def guarded(language: str, title: str, body: str) -> str:
    """A page behind several protections, each of which left its script in it."""
    return (
        f'<html lang="{language}"><head><title>{title}</title><script type="text/javascript" '
        'src="/_Incapsula_Resource?SWJIYLWA=719d34d31c8e3a6e6fffd425f7e032f3"></script><script '
        'src="https://js.datadome.co/tags.js" async></script><script src="https://1a2b.edge.sdk.awswaf.com/1a2b/'
        'challenge.js" defer></script></head><body><div>'
        f'{body}</div><script>(function(){{window._pxAppId="PX1a2b3c4d";var d=document.createElement("script");'
        "d.innerHTML=\"window.__CF$cv$params={r:'8f3a',t:'MTcz'};var a=document.createElement('script');"
        "a.src='/cdn-cgi/challenge-platform/scripts/jsd/main.js';\"})();</script>"
        '<script src="/cdn-cgi/scripts/5c5dd728/cloudflare-static/email-decode.min.js"></script></body></html>'
    )


def old(language: str, title: str, body: str) -> str:
    """A page in the style of 1999: no paragraphs, tables for everything."""
    flat = body.replace("<p>", "").replace("</p>", "<BR><BR>").replace("<h1>", "<FONT SIZE=5><B>")
    flat = flat.replace("</h1>", "</B></FONT><BR>")
    return (
        f'<HTML><HEAD><TITLE>{title}</TITLE></HEAD><BODY BGCOLOR="#FFFFFF"><TABLE WIDTH=600 BORDER=0><TR><TD>{flat}'
        '</TD></TR></TABLE><HR><A HREF="index.html"><IMG SRC="home.gif" BORDER=0></A></BODY></HTML>'
    )


def forum(language: str, title: str, body: str) -> str:
    """A community with a login form on every page and a hint for users without JavaScript."""
    return (
        f'<!DOCTYPE html><html lang="{language}"><head><title>{title} - The Workbench</title><script src="/js/b.js">'
        "</script></head><body><noscript><p>JavaScript is disabled. For a better experience, please enable JavaScript "
        "in your browser.</p></noscript>"
        '<form action="/login" method="post"><input name="user"><input type="password" name="pass"><button>Log in'
        '</button></form><div class="message"><a href="/u/marta">marta</a> <time>12:40</time>'
        f"{body}</div>"
        '<a href="/f/2">↑</a> <a href="/t/2">→</a></body></html>'
    )


LAYOUTS: dict[str, Layout] = {
    layout.__name__: layout for layout in (bare, plain, blog, banner, app, guarded, old, forum)
}
