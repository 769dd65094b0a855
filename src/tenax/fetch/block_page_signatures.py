"""Signatures of block pages: vendor markup, phrases and titles.

Everything is in lower case, with straight apostrophes. A *mark* is markup that no page of the site itself has; a script
of the same vendor that also runs on good pages is a *widget*, and proves nothing alone. A *phrase* addresses the
visitor; an article about block pages is worded differently. A *headline* counts when it is the whole title or heading,
or a part of it between separators. *Filler* is the text around phrases, which proves nothing.
"""

from __future__ import annotations

from typing import Final, Literal

BlockKind = Literal["blocked", "captcha", "limited", "challenge", "javascript", "consent", "login"]

HARD_KINDS: Final[frozenset[BlockKind]] = frozenset(("blocked", "captcha", "limited"))
"""These kinds block us. A browser may get a page for all other kinds except `login`."""

MARKUP_SIGNATURES: Final[tuple[tuple[str, BlockKind, str], ...]] = (
    ("_cf_chl_opt", "challenge", "Cloudflare"),
    ("__cf_chl_", "challenge", "Cloudflare"),
    ("cf-browser-verification", "challenge", "Cloudflare"),
    ("challenge-form", "challenge", "Cloudflare"),
    ("cf-challenge-running", "challenge", "Cloudflare"),
    ("cf-error-details", "blocked", "Cloudflare"),
    ("bm-verify", "challenge", "Akamai"),
    ("/_sec/verify", "challenge", "Akamai"),
    ("sec-if-cpt", "challenge", "Akamai"),
    ("sec-cpt-if", "challenge", "Akamai"),
    ("px-captcha", "captcha", "PerimeterX"),
    ("_pxblockurl", "captcha", "PerimeterX"),
    ("_pxblockedurl", "captcha", "PerimeterX"),
    ("captcha-delivery.com", "captcha", "DataDome"),
    ("_incapsula_resource?swudnsai", "blocked", "Imperva"),
    ("_incapsula_resource?cwudnsai", "blocked", "Imperva"),
    ("distil_r_captcha", "captcha", "Imperva"),
    ("gokuprops", "challenge", "AWS WAF"),
    ("awswafintegration.checkforcerefresh", "challenge", "AWS WAF"),
    ("kpsdk.start", "challenge", "Kasada"),
    ("ips.js?x-kpsdk", "challenge", "Kasada"),
    ("sucuri_cloudproxy_js", "challenge", "Sucuri"),
    ("check.ddos-guard.net", "challenge", "DDoS-Guard"),
    ("/.well-known/ddos-guard/", "challenge", "DDoS-Guard"),
    ("anubis_challenge", "challenge", "Anubis"),
    ("/.within.website/x/cmd/anubis", "challenge", "Anubis"),
    ("/.well-known/vercel/security", "challenge", "Vercel"),
    ("/__qrator/qauth", "challenge", "Qrator"),
    ("validate.perfdrive.com", "captcha", "Radware"),
    ("/errors/validatecaptcha", "captcha", "Amazon"),
    ("/checkcaptcha", "captcha", "Yandex"),
    ("window.rbzns", "challenge", "Reblaze"),
    ("bobcmn", "challenge", "F5"),
    ("wbaas.wb.ru", "challenge", "Wildberries"),
    ("consent.google.", "consent", "Google"),
    ("consent.youtube.", "consent", "Google"),
    ("consent.yahoo.", "consent", "Yahoo"),
    ("/collectconsent", "consent", "Yahoo"),
    ("enablejs?", "javascript", "Google"),
)

WIDGET_SIGNATURES: Final[tuple[tuple[str, BlockKind, str], ...]] = (
    ("g-recaptcha", "captcha", "reCAPTCHA"),
    ("h-captcha", "captcha", "hCaptcha"),
    ("js.hcaptcha.com", "captcha", "hCaptcha"),
    ("cf-turnstile", "captcha", "Turnstile"),
    ("captcha-sdk.awswaf.com", "captcha", "AWS WAF"),
    ("smartcaptcha", "captcha", "SmartCaptcha"),
    ("captcha-container", "captcha", "captcha"),
    ("captcha-box", "captcha", "captcha"),
    ("onetrust", "consent", "OneTrust"),
    ("privacy-mgmt.com", "consent", "Sourcepoint"),
    ("sp_message", "consent", "Sourcepoint"),
    ("qc-cmp2", "consent", "Quantcast"),
    ("consent-form", "consent", "a consent form"),
    ("consent-overlay", "consent", "a consent form"),
    ("didomi", "consent", "Didomi"),
    ("usercentrics", "consent", "Usercentrics"),
    ("consensu.org", "consent", "a consent tool"),
)

_HEADLINE_LISTS: Final[dict[BlockKind, str]] = {
    "challenge": """
just a moment|nur einen moment|un momento|un instant|um momento|een ogenblik geduld|jeszcze chwila|один момент
please wait|bitte warten|checking your browser|one moment, please|ddos-guard|vercel security checkpoint
making sure you're not a bot|security checkpoint|challenge validation|verifying your browser|しばらくお待ちください
请稍候|browser check|client challenge|verifying your connection
""",
    "blocked": """
access denied|access forbidden|forbidden|403 forbidden|403 error|error 403|403|403 - forbidden|request rejected
request blocked|request unsuccessful|attention required|you have been blocked|blocked|access blocked
access restricted|unauthorized request blocked|the request could not be satisfied|pardon our interruption
not authorized|unauthorized|401 unauthorized|error 1020|error 1015|error 1006|ip blocked|your ip is blocked
zugriff verweigert|zugang verweigert|zugriff gesperrt|kein zugriff|accès refusé|accès interdit|acceso denegado
acceso prohibido|accesso negato|acesso negado|toegang geweigerd|geen toegang|odmowa dostępu|dostęp zabroniony
доступ запрещен|доступ запрещён|доступ ограничен|доступ закрыт|アクセスが拒否されました|アクセス拒否|アクセス制限
访问被拒绝|访问被拦截|拒绝访问|禁止访问|访问受限|存取被拒|접근이 차단되었습니다|접근 거부
451: unavailable due to legal reasons|unavailable for legal reasons
""",
    "captcha": """
robot check|robot or human?|are you a robot?|are you a robot|are you human?|are you human|are you a human?
human verification|verify you are human|verify you're human|please verify you are a human|captcha|security check
bot verification|captcha check|radware captcha page|one more step|security verification|verification required
sind sie ein roboter?|sicherheitsüberprüfung|sicherheitsabfrage|bist du ein mensch?|êtes-vous un robot ?
vérification de sécurité|contrôle de sécurité|verificación de seguridad|¿eres un robot?|verifica di sicurezza
verificação de segurança|ben je een robot?|beveiligingscontrole|czy jesteś robotem?|вы не робот?|я не робот
проверка безопасности|ой|ロボットではありません|セキュリティチェック|安全验证|百度安全验证|人机验证|滑动验证页面|验证码
""",
    "limited": """
too many requests|429 too many requests|429|rate limit exceeded|rate limited|error 429|slow down
zu viele anfragen|trop de requêtes|demasiadas solicitudes|demasiadas peticiones|troppe richieste
muitas solicitações|muitos pedidos|te veel verzoeken|zbyt wiele żądań|слишком много запросов
リクエストが多すぎます|请求过于频繁|访问过于频繁
""",
    "javascript": """
please enable javascript|javascript required|javascript is disabled|javascript disabled
javascript is not available|javascript is required|bitte javascript aktivieren
javascript deaktiviert|javascript désactivé|activez javascript|javascript desactivado
attiva javascript|ative o javascript|schakel javascript in|włącz javascript|включите javascript
javascriptを有効にしてください|请启用javascript|请开启javascript
""",
    "consent": """
before you continue|before you continue to google|before you continue to youtube|we value your privacy
your privacy is important to us|your privacy matters to us|we care about your privacy|bevor sie fortfahren
bevor du fortfährst|wir respektieren ihre privatsphäre|mit werbung weiterlesen|avant de continuer
votre vie privée nous importe|le respect de votre vie privée est notre priorité|antes de continuar
valoramos tu privacidad|valoramos su privacidad|prima di continuare|il rispetto della tua privacy è la nostra priorità
a sua privacidade é importante para nós|voordat je verdergaat|wij waarderen uw privacy|zanim przejdziesz dalej
cenimy twoją prywatność|прежде чем продолжить|続行する前に|cookie consent|consent required|cookiewall
yahoo is part of the yahoo family of brands
""",
    "login": """
log in to continue|login to continue|sign in to continue|login required|sign in required|authentication required
please log in|please sign in|anmeldung erforderlich|bitte anmelden|connexion requise|inicia sesión para continuar
accedi per continuare|faça login para continuar|zaloguj się, aby kontynuować|войдите, чтобы продолжить
ログインが必要です|请先登录|请登录后查看
""",
}  # fmt: skip

_PHRASE_LISTS: Final[dict[BlockKind, str]] = {
    "blocked": """
you have been blocked|you've been blocked|you are unable to access|you don't have permission to access
you do not have permission to access|you are not authorized to access|you are not authorised to access
access to this page has been denied|access to this resource has been denied|your access to this site has been
your request has been blocked|your request was blocked|request blocked.|the request was blocked|this request was blocked
the requested url was rejected|your support id is|incapsula incident id|request unsuccessful.
your ip has been blocked|your ip address has been blocked|your ip has been banned|your ip address has been banned
blocked by network security|blocked due to a network policy|we have detected unauthorized activity
access from your area has been|not available in your country|not available in your region|cannot be granted at this time
triggered the security solution|why have i been blocked|block this page|you think this block is an error
made us think you were a bot|made us think that you are a bot|we believe you are using automation tools
unusual traffic from your|detected unusual traffic|detected unusual activity from your|sending automated queries
can't process your request right now|automated access to|errors.edgesuite.net|the request could not be satisfied
sie haben keine berechtigung|ihre ip-adresse wurde|ihre anfrage wurde blockiert|ihr zugriff wurde|sie wurden blockiert
ungewöhnlichen datenverkehr|ungewöhnliche aktivität
vous n'êtes pas autorisé à accéder|vous n'avez pas l'autorisation|votre adresse ip a été|vous avez été bloqué
trafic inhabituel
no tiene permiso para acceder|no tienes permiso para acceder|no está autorizado a acceder|su dirección ip ha sido
has sido bloqueado|ha sido bloqueado|tráfico inusual
non hai il permesso di accedere|non sei autorizzato ad accedere|il tuo indirizzo ip è stato|sei stato bloccato
traffico insolito|não tem permissão para acessar|não tem permissão para aceder|você foi bloqueado
seu endereço ip foi|tráfego incomum|je hebt geen toegang tot|u hebt geen toegang tot|u heeft geen toegang tot
je bent geblokkeerd|uw ip-adres is|ongebruikelijk verkeer|nie masz uprawnień do|nie masz dostępu do
twój adres ip został|zostałeś zablokowany|nietypowy ruch
у вас нет прав доступа|у вас нет доступа|ваш ip-адрес заблокирован|ваш ip заблокирован|доступ к ресурсу ограничен
вы были заблокированы|похожи на автоматические|подозрительный трафик|подозрительную активность
アクセスする権限がありません|アクセスは拒否されました|アクセスが制限されています|異常なトラフィック|通常と異なるトラフィック
您的访问被阻断|您的访问被拦截|您的请求被拦截|您没有权限访问|您的ip已被|可能对网站造成安全威胁|异常流量|访问行为异常
网络不给力，请稍后重试|비정상적인 접근|접속이 차단
""",
    "captcha": """
verify you are human|verify you're human|verify that you are human|verify that you're not a robot
verify that you are not a robot|verifying you are human|confirm you are human|confirm you are a human
confirm that you're human|prove you are human|prove that you are human|prove you're not a robot
complete the security check|complete the captcha|solve this captcha|complete the action below
enter the characters you see|type the characters you see|type the characters below|press & hold to confirm
make sure you're not a robot|really you sending the requests|i am not a robot|i'm not a robot
complete the check below|slide to verify|drag the slider
bestätigen sie, dass sie ein mensch sind|dass sie kein roboter sind|dass du kein roboter bist
geben sie die zeichen ein|lösen sie das captcha
confirmez que vous êtes un humain|vérifiez que vous êtes humain|que vous n'êtes pas un robot
verifica que eres humano|confirma que eres humano|que no eres un robot|que usted no es un robot
verifica di essere umano|conferma di essere umano|che non sei un robot|verifique se você é humano
confirme que é humano|que você não é um robô|que não é um robô|bevestig dat je een mens bent|dat je geen robot bent
potwierdź, że jesteś człowiekiem|że nie jesteś robotem|подтвердите, что вы не робот|подтвердите, что вы человек
подтвердите, что запросы отправляли вы|あなたが人間であることを確認|ロボットではないことを確認
请完成安全验证|请完成验证|请输入验证码|请拖动滑块|确认您是真人|证明您不是机器人|로봇이 아닙니다
""",
    "limited": """
you have sent too many requests|you've sent too many requests|you have made too many requests
you are being rate limited|you have been rate limited|your rate limit|exceeded the rate limit|too many requests from
received too many requests from|wurden zu viele anfragen|sie haben zu viele anfragen
vous avez envoyé trop de requêtes|ha enviado demasiadas solicitudes|demasiadas solicitudes desde
hai inviato troppe richieste|enviou muitas solicitações|te veel verzoeken verzonden|wysłano zbyt wiele
вы отправили слишком много запросов|слишком много запросов с|アクセスが集中しています|您的访问过于频繁|您的请求过于频繁
访问太频繁
""",
    "challenge": """
checking your browser|while we check your browser|checking if the site connection is secure
verifying your browser|we're verifying your browser
this process is automatic. your browser will|review the security of your connection|once this check is complete
making sure you're not a bot|has set up anubis|please allow up to 5 seconds|you are now in line
performing security verification
ihr browser wird überprüft|überprüft, ob sie ein mensch sind|sicherheit ihrer verbindung überprüfen
vérification de votre navigateur|vérifier la sécurité de votre connexion|comprobando su navegador
verificar la seguridad de su conexión|verifica del browser|controllo del browser|verificando seu navegador
verificar a segurança da sua conexão|je browser wordt gecontroleerd|sprawdzanie przeglądarki
проверка вашего браузера|проверяем ваш браузер|ブラウザを確認しています|接続のセキュリティを確認
正在检查您的浏览器|正在验证您的浏览器|检查站点连接是否安全
""",
    "javascript": """
enable javascript to run this app|enable javascript to continue|enable javascript to use|enable javascript to view
please enable javascript|please enable js|please turn on javascript
please turn javascript on|requires javascript to|requires javascript.|javascript is required|javascript is disabled
javascript is not available|javascript is not enabled|javascript must be enabled|you must enable javascript
you need to enable javascript|need to enable javascript|work properly without javascript
work without javascript|detected that javascript is|enable javascript and cookies|enable cookies and javascript
your browser does not support javascript|javascript enabled to|this page requires javascript
aktivieren sie javascript|bitte aktiviere javascript|javascript bitte aktivieren|javascript ist deaktiviert
benötigt javascript|javascript muss aktiviert|javascript ist in ihrem browser
veuillez activer javascript|activez javascript|javascript est désactivé|nécessite javascript|javascript doit être activé
active javascript|activa javascript|habilite javascript|habilita javascript|requiere javascript
javascript está desactivado|necesita javascript|attiva javascript|abilita javascript
richiede javascript|javascript è disabilitato|ative o javascript|habilite o javascript|requer javascript
javascript está desativado|schakel javascript in|javascript is uitgeschakeld|vereist javascript|zet javascript aan
włącz javascript|włącz obsługę javascript|wymaga javascript|wymaga włączenia javascript|включите javascript
требуется javascript|javascript отключен|javascriptを有効|javascriptが無効|javascriptがオフ
启用javascript|启用 javascript|开启javascript|开启 javascript|啟用javascript|需要javascript|javascript를 활성화
""",
    "consent": """
we and our partners|we use cookies and data to|store and/or access information on a device|before you continue to
if you choose to \"accept all\"|if you click 'accept all'|click 'reject all'|part of the yahoo family of brands
we value your privacy|manage your choices|use precise geolocation data|transparency & consent framework
wir und unsere partner|informationen auf einem gerät|mit werbung weiterlesen|mit werbung und tracking
besuchen sie uns wie gewohnt mit werbung|akzeptieren und weiter|bevor sie fortfahren|ohne werbetracking
wenn sie auf \"alle akzeptieren\"|teil der yahoo markenfamilie|verwenden wir cookies und
nous et nos partenaires|des informations sur un appareil|continuer sans accepter|avant d'accéder à
nosotros y nuestros socios|información en un dispositivo|antes de ir a|noi e i nostri partner
informazioni su un dispositivo|continua senza accettare|prima di continuare su|nós e os nossos parceiros
nós e nossos parceiros|informações num dispositivo|informações em um dispositivo|wij en onze partners
informatie op een apparaat|voordat je verdergaat naar|my i nasi partnerzy|informacji na urządzeniu
zanim przejdziesz do|мы и наши партнеры|мы и наши партнёры|прежде чем перейти
続行する前に|当社とパートナー|繼續使用前|我们和我们的合作伙伴
""",
    "login": """
log in to continue|login to continue|sign in to continue|you must log in to|you must be logged in to
you must sign in to|you must be signed in to view|you need to log in to|you need to be logged in
please log in to continue|please log in to view|please log in to access|please login to continue
please login to view|please sign in to continue|please sign in to view|please sign in to access|log in to see
sign in to see|sign in to view|log in to view
melden sie sich an, um|bitte melden sie sich an|sie müssen angemeldet sein|sie müssen sich anmelden
vous devez être connecté|connectez-vous pour|veuillez vous connecter|debe iniciar sesión|debes iniciar sesión
inicia sesión para|inicie sesión para|devi effettuare l'accesso|accedi per vedere|accedi per continuare
você precisa fazer login|faça login para|tem de iniciar sessão|je moet ingelogd zijn|log in om verder
musisz się zalogować|zaloguj się, aby|войдите, чтобы|необходимо войти|необходимо авторизоваться
ログインしてください|ログインが必要|请先登录|请登录后
""",
}  # fmt: skip


def _split_list(listed: str) -> tuple[str, ...]:
    """The entries of a list separated by bars and line breaks."""
    return tuple(filter(None, listed.replace("\n", "|").split("|")))


HEADLINES: Final[dict[str, BlockKind]] = {
    headline: kind for kind, listed in _HEADLINE_LISTS.items() for headline in _split_list(listed)
}
PHRASES: Final[tuple[tuple[str, BlockKind], ...]] = tuple(
    (phrase, kind) for kind, listed in _PHRASE_LISTS.items() for phrase in _split_list(listed)
)

FOOTER_PHRASES: Final[tuple[str, ...]] = _split_list("""
ray id|reference #|reference id|reference:|incident id|request id|support id|block id|your ip|ip address:
referenznummer|cloudflare|akamai|imperva|incapsula|datadome|perimeterx|wordfence|sucuri|cloudfront|nginx|apache/
openresty|litespeed|varnish|powered by|protected by|generated by|contact the|contact support|go back|©
""")
"""Common text below block pages of any kind."""

_FILLER_LISTS: Final[dict[BlockKind, str]] = {
    "consent": """
accept|reject|agree|more options|settings|purposes|privacy policy|terms of|datenschutz|impressum|abonnent|abonnieren
""",
    "login": """
forgot|create new account|create an account|sign up|register|password|passwort|log in|sign in|privacy policy|terms of
""",
}
_CHALLENGE_FILLER_LIST: Final = """
ip address|ip-adresse|adresse ip|dirección ip|ip-адрес|user agent|site owner|website owner|administrator
why am i seeing|why did this happen|what happened|what can i do|about this page|try again|reload|refresh the page
refresh this page|a few seconds|redirect|security service|cookies are enabled|accepting cookies|ad blocker|javascript
captcha|sign in|logging in|privacy policy|terms of|conditions of use|please wait|loading
später erneut|réessayer|inténtelo|riprova
tente novamente|probeer het|spróbuj|попробуйте|повторите|再试|重试|返回|反馈
"""
FILLER_PHRASES: Final[dict[BlockKind, tuple[str, ...]]] = {
    **{kind: _split_list(listed) for kind, listed in _FILLER_LISTS.items()},
    **dict.fromkeys(("blocked", "captcha", "limited", "challenge"), _split_list(_CHALLENGE_FILLER_LIST)),
    # Good pages explain how to enable JavaScript too, in the same words.
    "javascript": (),
}
"""Common text around the phrases on each kind of block page."""

EXPLAINER_TITLE_PREFIXES: Final[tuple[str, ...]] = (
    "how ", "what ", "why ", "when ", "fix", "solv", "troubleshoot", "understanding ", "about ", "guide ", "help: ",
    "wie ", "was ", "warum ", "hilfe", "comment ", "pourquoi ", "qu'est-ce ", "cómo ", "qué ", "por qué ", "come ",
    "cosa ", "perché ", "como ", "o que ", "por que ", "hoe ", "wat ", "waarom ", "jak ", "co ", "dlaczego ", "как ",
    "что ", "почему ", "什么是", "如何", "怎么", "怎样", "为什么",
)  # fmt: skip
"""Titles of pages about block pages begin like this. No block page has such a title."""

LOADING_PHRASES: Final[tuple[str, ...]] = (
    "loading", "please wait", "redirecting", "you are being redirected", "one moment", "lade", "laden", "wird geladen",
    "bitte warten", "weiterleitung", "chargement", "veuillez patienter", "redirection", "cargando", "espere",
    "caricamento", "attendere", "carregando", "a carregar", "aguarde", "bezig met laden", "ładowanie", "proszę czekać",
    "загрузка", "подождите", "読み込み中", "加载中", "请稍候", "載入中", "로딩",
)  # fmt: skip
"""Text of an empty shell while it loads."""
