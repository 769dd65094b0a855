"""Block pages with status 200, after real ones: (name, expected validation result, page)."""

from __future__ import annotations


def _page(title: str, body: str, head: str = "", lang: str = "en") -> str:
    return (
        f'<!DOCTYPE html><html lang="{lang}"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="robots" content="noindex,nofollow">{head}</head><body>{body}</body></html>'
    )


_CHL = (
    "<script>(function(){window._cf_chl_opt={cvId:'3',cZone:'shop.example',cType:'managed',cRay:'8f3a'};var a="
    "document.createElement('script');a.src='/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1?ray=8f3a';"
    "document.getElementsByTagName('head')[0].appendChild(a);}());</script>"
)
_VENDORS = "".join(f"<li>Partner {number} – purposes 1, 3, 4, 7</li>" for number in range(60))
_LANGUAGES = "".join(f"<option>Language {number}</option>" for number in range(70))

WALLS: tuple[tuple[str, str, str], ...] = (
    (
        "cloudflare managed challenge",
        "soft",
        _page(
            "Just a moment...",
            "<noscript><div class='h2'><span id='challenge-error-text'>Enable JavaScript and "
            "cookies to continue</span></div></noscript>" + _CHL,
            '<meta http-equiv="refresh" content="360">',
        ),
    ),
    (
        "cloudflare blocked",
        "hard",
        _page(
            "Attention Required! | Cloudflare",
            "<div id='cf-wrapper'><div id='cf-error-details'><h1>Sorry, you have been blocked</h1><h2>You are unable "
            "to access shop.example</h2><h2>Why have I been blocked?</h2><p>This website is using a security service "
            "to protect itself from online attacks. The action you just performed triggered the security solution. "
            "There are several actions that could trigger this block including submitting a certain word or phrase, "
            "a SQL command or malformed data.</p><h2>What can I do to resolve this?</h2><p>You can email the site "
            "owner to let them know you were blocked.</p><p>Cloudflare Ray ID: 8f3a1 • Your IP: 203.0.113.9</p></div>"
            "</div>",
        ),
    ),
    (
        "cloudflare 1020",
        "hard",
        _page(
            "Access denied | shop.example used Cloudflare to restrict access",
            "<div id='cf-error-details'><h1>Error 1020</h1><h2>Access denied</h2><p>What happened?</p><p>This website "
            "is using a security service to protect itself from online attacks.</p><p>Ray ID: 8f3a</p></div>",
        ),
    ),
    (
        "cloudflare old check",
        "soft",
        _page(
            "Please Wait... | Cloudflare",
            "<h1>Checking your browser before accessing shop.example.</h1><p>This process is automatic. Your browser "
            "will redirect to your requested content shortly.</p><p>Please allow up to 5 seconds…</p><p>DDoS "
            "protection by Cloudflare. Ray ID: 5f1</p><form id='challenge-form' action='/?__cf_chl_jschl_tk__=1'>"
            "</form>",
        ),
    ),
    (
        "cloudflare german",
        "soft",
        _page(
            "Nur einen Moment…",
            "<h1>shop.example</h1><p>Es wird überprüft, ob Sie ein Mensch sind. Dies kann einige "
            "Sekunden dauern.</p><p>shop.example muss die Sicherheit Ihrer Verbindung überprüfen, bevor Sie "
            "fortfahren können.</p>" + _CHL,
            lang="de",
        ),
    ),
    (
        "akamai denied",
        "hard",
        "<HTML><HEAD><TITLE>Access Denied</TITLE></HEAD><BODY><H1>Access Denied</H1>You don't have permission to access"
        ' "http&#58;&#47;&#47;www&#46;shop&#46;example&#47;" on this server.<P>Reference&#32;&#35;18&#46;2e8d7b5c&#46;'
        "1700000000&#46;3f1<P>https&#58;&#47;&#47;errors&#46;edgesuite&#46;net&#47;18&#46;2e8d</BODY></HTML>",
    ),
    (
        "akamai interstitial",
        "soft",
        "<html><head><title>&nbsp;</title><meta http-equiv='refresh' content='5; URL=/?bm-verify=AAQAAAA'></head><body>"
        "<script>var i=1700;var j=i+Number('7'+'61');xhr.open('POST','/_sec/verify?provider=interstitial');</script>"
        "</body></html>",
    ),
    (
        "akamai sec-cpt",
        "soft",
        _page(
            "Challenge Validation",
            "<div id='sec-if-cpt-container'><div id='sec-cpt-if' provider='crypto'></div></div>"
            "<p>Powered and protected by</p>",
            "<script src='/_sec/cp_challenge/sec-cpt-4-1.js'></script>",
        ),
    ),
    (
        "perimeterx",
        "hard",
        _page(
            "Access to this page has been denied.",
            "<div class='px-captcha-container'><h1>Press &amp; Hold to confirm you are a human (and not a bot).</h1>"
            "<div id='px-captcha'></div><p>Reference ID 1f2e-3d4c</p></div>",
            "<script>window._pxAppId='PX1';window._pxBlockUrl='/x';</script>",
        ),
    ),
    (
        "perimeterx without script",
        "hard",
        _page(
            "Access to this page has been denied",
            "<h1>Access to this page has been denied because we believe you are using automation tools to browse the "
            "website.</h1><p>This may happen as a result of the following:</p><ul><li>Javascript is disabled or "
            "blocked by an extension</li><li>Your browser does not support cookies</li></ul><p>Please make sure that "
            "Javascript and cookies are enabled on your browser.</p><p>Reference ID: #b1a2</p>",
        ),
    ),
    (
        "walmart-like",
        "hard",
        _page(
            "Robot or human?",
            "<h1>Robot or human?</h1><p>Activate and hold the button to confirm that you’re human. "
            "Thank You!</p><p>Try a different method</p><a href='/terms'>Terms of Use</a> <a href='/privacy'>Privacy "
            "Policy</a><p>©2026 Store</p>",
        ),
    ),
    (
        "datadome",
        "hard",
        "<html lang='en'><head><title>shop.example</title><style>#cmsg{animation: A 1.5s;}</style></head><body "
        "style='margin:0'><p id='cmsg'>Please enable JS and disable any ad blocker</p><script data-cfasync='false'>var "
        "dd={'rt':'c','cid':'AHrlqAAAA','hsh':'EC3A','t':'fe','s':43337,'host':'geo.captcha-delivery.com'}</script>"
        "<script data-cfasync='false' src='https://ct.captcha-delivery.com/c.js'></script></body></html>",
    ),
    (
        "datadome rendered",
        "hard",
        _page(
            "shop.example",
            "<iframe src='https://geo.captcha-delivery.com/captcha/?initialCid=A' title='DataDome "
            "CAPTCHA' width='100%'></iframe>",
        ),
    ),
    (
        "imperva iframe",
        "hard",
        "<html style='height:100%'><head><META NAME='ROBOTS' CONTENT='NOINDEX, NOFOLLOW'><script "
        "src='/_Incapsula_Resource?SWJIYLWA=5074a744e2e3d891814e9a2dace20bd4'></script></head><body style='margin:0px'>"
        "<iframe id='main-iframe' src='/_Incapsula_Resource?SWUDNSAI=31&xinfo=9-1&incident_id=120-1&edet=12' "
        "frameborder=0>Request unsuccessful. Incapsula incident ID: 120-1</iframe></body></html>",
    ),
    (
        "imperva pardon",
        "hard",
        _page(
            "Pardon Our Interruption",
            "<div class='container'><h1>Pardon Our Interruption...</h1><p>As you were browsing something about your "
            "browser made us think you were a bot. There are a few reasons this might happen:</p><ul><li>You're a "
            "power user moving through this website with super-human speed.</li><li>You've disabled JavaScript in "
            "your web browser.</li><li>A third-party browser plugin is preventing JavaScript from running.</li></ul>"
            "<p>To regain access, please make sure that cookies and JavaScript are enabled before reloading the "
            "page.</p></div>",
        ),
    ),
    (
        "aws waf challenge",
        "soft",
        "<!DOCTYPE html><html lang='en'><head><title></title><script>window.awsWafCookieDomainList=[];window.gokuProps="
        "{'key':'AQIDAHjc','iv':'A6x','context':'Ic'};</script><script src='https://1a.b.us-east-1.token.awswaf.com/1a/"
        "challenge.js'></script></head><body><div id='challenge-container'></div><script>AwsWafIntegration."
        "checkForceRefresh()</script><noscript><h1>JavaScript is disabled</h1>In order to continue, we need to verify "
        "that you're not a robot. This requires JavaScript.</noscript></body></html>",
    ),
    (
        "aws waf captcha",
        "hard",
        _page(
            "Human Verification",
            "<h1>Human Verification</h1><div id='captcha-container'></div>",
            "<script src='https://1a.captcha.us-east-1.captcha-sdk.awswaf.com/1a/captcha.js'></script>",
        ),
    ),
    (
        "cloudfront",
        "hard",
        "<HTML><HEAD><TITLE>ERROR: The request could not be satisfied</TITLE></HEAD><BODY><H1>403 ERROR</H1><H2>The "
        "request could not be satisfied.</H2><HR>Request blocked. We can't connect to the server for this app or "
        "website at this time.<BR clear='all'><PRE>Generated by cloudfront (CloudFront) Request ID: Zx1</PRE></BODY>"
        "</HTML>",
    ),
    (
        "kasada",
        "soft",
        "<!DOCTYPE html><html><head></head><body><script>window.KPSDK={};KPSDK.now=function(){return Date.now()};"
        "KPSDK.start=KPSDK.now();</script><script src='/149e9513-01fa/2d206a39/ips.js?x-kpsdk-im=AAI'></script></body>"
        "</html>",
    ),
    (
        "f5 support id",
        "hard",
        "<html><head><title>Request Rejected</title></head><body>The requested URL was rejected. Please consult with "
        "your administrator.<br><br>Your support ID is: 1234567890123456789<br><br><a href='javascript:history.back()'>"
        "[Go Back]</a></body></html>",
    ),
    (
        "sucuri",
        "hard",
        _page(
            "Sucuri WebSite Firewall - Access Denied",
            "<h1>Access Denied - Sucuri Website Firewall</h1><p>If you are the site owner (or you manage this site), "
            "please whitelist your IP or if you think this block is an error please open a support ticket.</p>"
            "<table><tr><td>Your IP:</td><td>203.0.113.9</td></tr><tr><td>Block ID:</td><td>BADBOT</td></tr></table>",
        ),
    ),
    (
        "sucuri script",
        "soft",
        "<html><title>You are being redirected...</title><noscript>Javascript is required. Please enable javascript "
        "before you are allowed to see this page.</noscript><script>var s={},u,c,U,r,i,l=0,a,e=eval,w=String."
        "fromCharCode,sucuri_cloudproxy_js='',S='cz0n';</script></html>",
    ),
    (
        "wordfence",
        "hard",
        _page(
            "Your access to this site has been limited",
            "<h1>Your access to this site has been limited by the site owner</h1><p>If you think you have been blocked "
            "in error, contact the owner of this site for assistance.</p><h2>Block Technical Data</h2><table><tr><td>"
            "Block Reason:</td><td>Access from your area has been temporarily limited</td></tr></table><p>Generated "
            "by Wordfence</p>",
        ),
    ),
    (
        "ddos-guard",
        "soft",
        _page(
            "DDoS-Guard",
            "<h1 id='title'>Checking your browser before accessing forum.example</h1><p>Please wait a "
            "few seconds. Once this check is complete, the website will open automatically</p><noscript>Please "
            "enable JavaScript</noscript>",
            "<script src='https://check.ddos-guard.net/check.js'></script>",
        ),
    ),
    (
        "anubis",
        "soft",
        _page(
            "Making sure you&#39;re not a bot!",
            "<main><h1 id='title'>Making sure you're not a bot!</h1><p id='status'>Loading...</p><details><summary>Why "
            "am I seeing this?</summary><p>You are seeing this because the administrator of this website has set up "
            "Anubis to protect the server against the scourge of AI companies aggressively scraping websites. This "
            "can and does cause downtime.</p><p>Anubis is a compromise.</p></details><noscript><p>Sadly, you must "
            "enable JavaScript to get past this challenge.</p></noscript></main>",
            "<script id='anubis_challenge' type='application/json'>{\"rules\":{}}</script>",
        ),
    ),
    (
        "vercel",
        "soft",
        _page(
            "Vercel Security Checkpoint",
            "<p id='header-text'>We're verifying your browser</p><a href='https://vercel"
            ".link/security-checkpoint'>Website owner? Click here to fix</a><p>Vercel Security Checkpoint | fra1::1</p>"
            "<noscript>Enable JavaScript to continue</noscript><script src='/.well-known/vercel/c.js'></script>",
        ),
    ),
    (
        "google sorry",
        "hard",
        "<html><head><title>https://google.com/search?q=x</title></head><body><form id='captcha-form' action='index'"
        " method='post'><div id='recaptcha' class='g-recaptcha' data-sitekey='6L'></div></form><div><b>About this page"
        "</b><br><br>Our systems have detected unusual traffic from your computer network. This page checks to see if "
        "it's really you sending the requests, and not a robot. <a href='#'>Why did this happen?</a><div>IP address: "
        "203.0.113.9<br>Time: 2026-01-01T00:00:00Z<br>URL: https://www.google.com/search?q=x</div></div></body></html>",
    ),
    (
        "amazon",
        "hard",
        _page(
            "Robot Check",
            "<h4>Enter the characters you see below</h4><p>Sorry, we just need to make sure you're not a "
            "robot. For best results, please make sure your browser is accepting cookies.</p><form action='/errors/"
            "validateCaptcha'><img src='/captcha/x.jpg'><input name='field-keywords'><button>Continue shopping"
            "</button></form><a href='/c'>Conditions of Use</a> <a href='/p'>Privacy Policy</a><p>© 1996-2026</p>",
        ),
    ),
    (
        "reddit",
        "hard",
        _page(
            "Blocked",
            "<h1>whoa there, pardner!</h1><p>Your request has been blocked due to a network policy.</p><p>Try "
            "logging in or creating an account here to get back to browsing.</p><p>If you're running a script or "
            "application, please register or sign in with your developer credentials. Your user agent is empty.</p>",
        ),
    ),
    (
        "yandex",
        "hard",
        _page(
            "Вы не робот?",
            "<h1>Подтвердите, что запросы отправляли вы, а не робот</h1><p>Нам очень жаль, но запросы с "
            "вашего устройства похожи на автоматические.</p><form action='/checkcaptcha'><input type='checkbox'>Я не "
            "робот</form><p>SmartCaptcha by Yandex Cloud</p>",
            lang="ru",
        ),
    ),
    (
        "baidu",
        "hard",
        _page(
            "百度安全验证",
            "<div class='timeout'><p>网络不给力，请稍后重试</p><a>返回首页</a><a>问题反馈</a></div>",
            "<script src='https://ppui-static-wap.cdn.bcebos.com/static/touch/js/mkd_v2.js'></script>",
            "zh",
        ),
    ),
    (
        "radware",
        "hard",
        _page(
            "Radware Captcha Page",
            "<h1>We apologize for the inconvenience...</h1><p>...but your activity and behavior "
            "on this site made us think that you are a bot.</p><p>Please solve this CAPTCHA to request unblock to the "
            "website</p><div class='h-captcha' data-sitekey='x'></div><p>Incident ID: 1f</p>",
        ),
    ),
    (
        "qrator",
        "soft",
        "<html><head><title>Проверка</title><script src='/__qrator/qauth_utm_v2.js'></script></head><body><noscript>"
        "Включите JavaScript</noscript></body></html>",
    ),
    (
        "generic hcaptcha",
        "hard",
        _page(
            "Security check",
            "<h1>One more step</h1><p>Please complete the security check to access forum.example</p>"
            "<div class='h-captcha' data-sitekey='1'></div>",
            "<script src='https://js.hcaptcha.com/1/api.js'></script>",
        ),
    ),
    (
        "generic turnstile",
        "hard",
        _page(
            "Verify you are human",
            "<h1>Verify you are human</h1><p>Complete the check below to continue to the "
            "site.</p><div class='cf-turnstile' data-sitekey='0x4'></div><script src='https://challenges.cloudflare.com"
            "/turnstile/v0/api.js'></script>",
        ),
    ),
    (
        "nginx 403",
        "hard",
        "<html><head><title>403 Forbidden</title></head><body><center><h1>403 Forbidden</h1></center>"
        "<hr><center>nginx/1.24.0</center></body></html>",
    ),
    (
        "apache forbidden",
        "hard",
        "<html><head><title>403 Forbidden</title></head><body><h1>Forbidden</h1><p>You don't have permission to access "
        "this resource.</p><hr><address>Apache/2.4.57 (Debian) Server at shop.example Port 443</address></body></html>",
    ),
    ("bare denied", "hard", "<html><body><h1>Access Denied</h1></body></html>"),
    (
        "geo block",
        "hard",
        _page(
            "451: Unavailable due to legal reasons",
            "<h1>451: Unavailable due to legal reasons</h1><p>We recognize you "
            "are attempting to access this website from a country belonging to the European Economic Area (EEA) "
            "including the EU which enforces the General Data Protection Regulation (GDPR) and therefore access "
            "cannot be granted at this time.</p>",
        ),
    ),
    (
        "rate limited",
        "hard",
        _page(
            "Too Many Requests",
            "<h1>Too Many Requests</h1><p>You have sent too many requests. Please slow down and try again later.</p>",
        ),
    ),
    (
        "rate limited german",
        "hard",
        _page(
            "Zu viele Anfragen",
            "<h1>Zu viele Anfragen</h1><p>Von Ihrer IP-Adresse wurden zu viele Anfragen gesendet. "
            "Bitte versuchen Sie es später erneut.</p>",
            lang="de",
        ),
    ),
    (
        "german denied",
        "hard",
        _page(
            "Zugriff verweigert",
            "<h1>Zugriff verweigert</h1><p>Sie haben keine Berechtigung, auf diese Seite "
            "zuzugreifen. Ihre IP-Adresse wurde gesperrt.</p><p>Referenznummer: 18.2e</p>",
            lang="de",
        ),
    ),
    (
        "french denied",
        "hard",
        _page(
            "Accès refusé",
            "<h1>Accès refusé</h1><p>Vous n’êtes pas autorisé à accéder à cette page. Votre adresse IP a "
            "été bloquée. Veuillez contacter l’administrateur du site.</p>",
            lang="fr",
        ),
    ),
    (
        "spanish human",
        "hard",
        _page(
            "Verificación",
            "<h1>Verifica que eres humano</h1><p>Completa la siguiente acción para continuar.</p><div "
            "class='g-recaptcha' data-sitekey='k'></div>",
            lang="es",
        ),
    ),
    (
        "japanese denied",
        "hard",
        _page(
            "アクセスが拒否されました",
            "<h1>アクセスが拒否されました</h1><p>このページにアクセスする権限がありません。</p><p>Reference #18.1</p>",
            lang="ja",
        ),
    ),
    (
        "chinese waf",
        "hard",
        _page(
            "访问被拦截",
            "<h1>很抱歉，由于您访问的URL有可能对网站造成安全威胁，您的访问被阻断。</h1><p>您的请求ID是：76b20f</p>",
            lang="zh",
        ),
    ),
    (
        "create-react-app shell",
        "soft",
        "<!doctype html><html lang='en'><head><meta charset='utf-8'/><meta name='description' content='Web site created"
        " using create-react-app'/><title>React App</title><script defer src='/static/js/main.1f2e.js'></script></head>"
        "<body><noscript>You need to enable JavaScript to run this app.</noscript><div id='root'></div></body></html>",
    ),
    (
        "vue shell",
        "soft",
        "<!DOCTYPE html><html lang=''><head><title>dashboard</title><script defer src='/js/chunk-vendors.js'></script>"
        "</head><body><noscript><strong>We're sorry but dashboard doesn't work properly without JavaScript enabled. "
        "Please enable it to continue.</strong></noscript><div id='app'></div></body></html>",
    ),
    (
        "angular shell",
        "soft",
        "<!doctype html><html lang='de'><head><base href='/'><title>Kundenportal</title></head><body><app-root>Loading"
        "...</app-root><script src='run.1f.js' type='module'></script><script src='main.2e.js' type='module'></script>"
        "</body></html>",
    ),
    (
        "shell with frame",
        "soft",
        _page(
            "Store",
            "<div id='app'><div class='spinner' aria-label='loading'></div></div><script>window.__INITIAL_STATE"
            "__={\"user\":null,\"items\":[]}</script><script src='/assets/index-9f2c.js' type='module'></script>",
        ),
    ),
    (
        "twitter-like",
        "soft",
        _page(
            "X",
            "<div id='react-root'><div id='placeholder'></div></div><noscript><h1>JavaScript is not available."
            "</h1><p>We’ve detected that JavaScript is disabled in this browser. Please enable JavaScript or switch to "
            "a supported browser to continue.</p></noscript><script src='/main.js'></script>",
        ),
    ),
    (
        "enable javascript page",
        "soft",
        _page(
            "Please enable JavaScript",
            "<h1>JavaScript required</h1><p>This site requires JavaScript to run. Please "
            "enable JavaScript in your browser settings and reload the page.</p>",
        ),
    ),
    (
        "german javascript",
        "soft",
        _page(
            "Ticketshop",
            "<div class='msg'>Bitte aktivieren Sie JavaScript in Ihrem Browser, um diese Seite nutzen zu "
            "können.</div><script src='/app.js'></script>",
            lang="de",
        ),
    ),
    (
        "google consent",
        "soft",
        "<!doctype html><html lang='en'><head><title>Before you continue</title></head><body><h1>Before you continue to"
        " Google</h1><div>We use cookies and data to</div><ul><li>Deliver and maintain Google services</li><li>Track "
        "outages and protect against spam, fraud, and abuse</li></ul><div>If you choose to “Accept all,” we will also "
        "use cookies and data to</div><ul><li>Develop and improve new services</li><li>Show personalized content, "
        "depending on your settings</li></ul><div>If you choose to “Reject all,” we will not use cookies for these "
        "additional purposes.</div><form action='https://consent.google.com/save' method='POST'><button>Reject all"
        f"</button><button>Accept all</button></form><select>{_LANGUAGES}</select><a href='#'>More options</a></body>"
        "</html>",
    ),
    (
        "yahoo consent",
        "soft",
        _page(
            "Yahoo is part of the Yahoo family of brands",
            "<div class='consent-overlay'><h2>We value your privacy</h2><p>When you use our sites and apps, we use "
            "cookies to provide our sites and apps to you.</p><p>If you click 'Accept all', we and our partners, "
            "including 240 who are part of the IAB Transparency &amp; Consent Framework, will also store and/or "
            "access information on a device (in other words, use cookies) and use precise geolocation data.</p><p>If "
            "you do not want us and our partners to use cookies for these additional purposes, click 'Reject all'."
            "</p><form class='consent-form' method='post'><button name='agree'>Accept all</button><button "
            "name='reject'>Reject all</button></form></div>",
        ),
    ),
    (
        "sourcepoint pur",
        "soft",
        _page(
            "Zustimmung – Tagblatt",
            "<h1>Mit Werbung weiterlesen</h1><p>Besuchen Sie uns wie gewohnt mit Werbung und "
            "Tracking. Details zum Tracking finden Sie in der Datenschutzerklärung.</p><button>Akzeptieren und weiter"
            "</button><h2>… oder das Pur-Abo</h2><p>Nutzen Sie uns ganz ohne Werbetracking und praktisch werbefrei."
            "</p><button>Jetzt abonnieren</button><p>Bereits Pur-Abonnent? Hier anmelden.</p>",
            "<script src='https://cdn.privacy-mgmt.com/unified/wrapperMessagingWithoutDetection.js'></script>",
            "de",
        ),
    ),
    (
        "long consent list",
        "soft",
        _page(
            "Your privacy choices",
            "<div class='qc-cmp2-container'><h1>We value your privacy</h1><p>We and our partners "
            "store and/or access information on a device, such as cookies. You may accept or manage your choices.</p>"
            f"<button>AGREE</button><button>MORE OPTIONS</button><ul>{_VENDORS}</ul></div>",
        ),
    ),
    (
        "login wall",
        "soft",
        _page(
            "Log in to continue | Circle",
            "<h1>Log in to continue</h1><p>You must log in to see this page.</p><form "
            "action='/login'><input name='email'><input type='password' name='pass'><button>Log in</button></form><a "
            "href='/forgot'>Forgotten password?</a> <a href='/join'>Create new account</a>",
        ),
    ),
    (
        "meta refresh",
        "soft",
        "<html><head><title>Redirecting...</title><meta http-equiv='refresh' content='0; url=/cookie-check?next=%2F'>"
        "</head><body>You are being redirected. <a href='/cookie-check?next=%2F'>Click here</a> if nothing happens."
        "</body></html>",
    ),
    ("empty", "soft", "<!doctype html><html><head><title></title></head><body>\n  <div></div>\n</body></html>"),
)
