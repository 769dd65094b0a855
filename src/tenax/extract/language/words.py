"""The most common short words of languages, and the letters typical of some: data for `detect`.

Words that similar languages spell differently are worth most (`ikke` and `inte`, `що` and `что`). So a list is not
simply the most frequent words: it also has words that distinguish its language from similar ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

LATIN: Final[Mapping[str, str]] = {
    "en": "the of and to in is that for it with as was on be by at this are from or have an not which you they but "
    "has his been were their will would there can all we he she more when if so what who about into than its our "
    "your do does did had how could should also just some other after these those them over any because my",
    "de": "der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es an werden aus er "
    "hat dass sie nach wird bei einer um am sind noch wie einem über einen so zum war haben nur oder aber vor zur bis "
    "mehr durch man sein wurde kann gegen vom wenn unter wir ich ihr ihre diese dieser kein keine sehr schon",
    "fr": "de la le et les des en un du une que est pour qui dans a par plus pas au sur ne se ce il sont la avec son "
    "sa ses aux ou cette d l c s n qu mais comme nous vous ils elle on leur tout ont été être fait deux même aussi "
    "peut si lui y ces très sans encore après entre où elles votre nos notre bien avoir je n'a depuis chez",
    "es": "de la que el en y a los del se las por un para con no una su al lo como más o pero sus le ha me si sin "
    "sobre este ya entre cuando todo esta ser son dos también fue había era muy años hasta desde está mi porque qué "
    "sólo han yo hay vez puede todos así nos ni parte tiene uno donde hacer esto ese esa quien nosotros usted",
    "pt": "de a que o e do da em um para é com não uma os no se na por mais as dos como mas foi ao ele das tem à seu "
    "sua ou ser quando muito há nos já está eu também só pelo pela até isso ela entre era depois sem mesmo aos ter "
    "seus quem nas me esse eles estão você tinha foram essa num nem suas meu às minha são pelos onde não",
    "it": "di e il la che in un a per è una non con del si da della sono le i al come dei più ha nel alla ma lo gli o "
    "delle anche se dell all questo ci su nella essere l d questa dal dalla ai stato cui degli sul loro hanno tra suo "
    "sua fatto alle nei perché quando molto ancora prima era dopo ed anno sia mi dalle solo così tutti può",
    "nl": "de van het een en in is dat op te zijn met voor die niet aan er om ook als dan maar bij nog uit naar door "
    "over ze zich hij of tot je wordt had werd hebben heeft deze meer geen kan was al zou wel worden onder ik haar hem "
    "hun onze we zo veel moet waar kunnen dit wat na tegen jaar mijn uw jullie daar",
    "sv": "och i att det som en på är av för med till den har de inte om ett han men var jag sig från vi så kan när "
    "man år säger hon under också efter eller nu sin där vid mot ska skulle kommer ut får finns vara hade alla andra "
    "mycket än här då bara in över blir upp vad få två vill ha många hur mer går sverige detta du dig mig",
    "da": "og i at det er en til af på for som de med den der har ikke et han var om jeg sig fra men vi så kan hun "
    "være efter ved eller nu sin også skal blev havde hans bliver ud får mod alle andre meget end her da kun over op "
    "hvad blive vil mange hvor mere år af efter under denne dette dig mig noget nogle selv når siger mellem",
    "no": "og i det er på en til som for at av med den har de ikke et han var om jeg seg fra men vi så kan hun være "
    "etter ved eller nå sin også skal ble hadde hans blir ut får mot alle andre mye enn her da bare over opp hva bli "
    "vil mange hvor mer år sier mellom denne dette deg meg noe noen selv når fram etter ikkje eg ein frå vart òg dei",
    "fi": "ja on ei se että hän oli ovat myös kuin joka mutta sen hänen tai jos niin ole kun vain sekä mukaan jo nyt "
    "voi olla siitä mitä jonka ollut vuonna ne tämä tämän olisi sitä kanssa jotka minä me siis vielä eivät mikä "
    "jälkeen kaikki sitten hyvin enää koska joita ennen oman ovatko tässä siinä minun sinun kuitenkin noin",
    "pl": "i w na z że do się nie jest to o za od po jak przez co dla a są jego jej ale był było tym być już tak czy "
    "ma może który która które których tego przy oraz tylko ich także był była były pod przed roku jeszcze gdy bardzo "
    "ze jako lub tej pan sobie nas mnie ten ta można aby także został bez między wszystko wszystkich",
    "cs": "a v se na je že to s z o do i k za by ale pro jako ve po od jsou tak si bude který která které byl byla "
    "bylo podle jeho při jen až také ze nebo co být jsem není tím už mezi této tento tedy než však před kde ke má "
    "když ještě další let roce jejich pouze více může musí můžete lze pokud",
    "sk": "a v sa na je že to s z o do i k za by ale pre ako vo po od sú tak si bude ktorý ktorá ktoré bol bola bolo "
    "podľa jeho pri len až aj zo alebo čo byť som nie tým už medzi tejto tento teda než však pred kde ku má keď ešte "
    "ďalšie rokov roku ich iba viac môže musí môžete pokiaľ sme tiež preto",
    "hu": "a az és hogy nem is egy ez meg volt már csak de mint el még ha vagy aki ki lehet kell azt ezt van lesz "
    "után ami minden s be majd fel meg amely olyan így több mert pedig ezek azok nagyon vannak voltak szerint között "
    "által illetve sem sok akkor két le itt ott ma ő én mi arra erre hogyan nincs úgy valamint",
    "ro": "de și în a la cu care nu pe o un că din este pentru se mai sau sunt fi au al ce lui ca am ale prin după "
    "fost era dar cum acest această într între până fără când foarte ei el ea ai le lor toate doar dacă avea poate "
    "astfel unei unui despre numai asupra către nostru noi voi acestea acum aceste fie şi că sînt",
    "tr": "ve bir bu da de için ile olarak olan daha çok gibi en ne var o kadar sonra ise değil ki ancak her göre "
    "ama oldu olduğu veya şey mi mı ya ben sen biz siz onun bunun tarafından yeni iki büyük iyi kendi hem diye önce "
    "türkiye sadece bütün nasıl zaman yıl içinde üzerinde bunu şu hiç yok etti eden olduğunu",
    "id": "yang dan di untuk dengan dari ini pada itu dalam tidak akan adalah ke oleh juga ada saya telah sebagai "
    "bisa mereka atau kami lebih tahun dia menjadi karena bahwa saat kita seperti orang hanya banyak setelah kepada "
    "belum anda sudah harus namun secara para tersebut serta kalau antara bagi dapat jika bukan uang karena berbeda",
    "ms": "yang dan di untuk dengan dari ini pada itu dalam tidak akan adalah ke oleh juga ada saya telah sebagai "
    "boleh mereka atau kami lebih tahun beliau menjadi kerana bahawa ketika kita seperti orang hanya banyak selepas "
    "kepada belum anda sudah mesti namun secara para tersebut serta kalau antara bagi jika bukan ialah wang berbeza "
    "sahaja pelbagai hendaklah malaysia iaitu manakala",
    "vi": "và của là có được cho không trong các với một những người này đã để khi về từ đến ra cũng như tại ở trên "
    "vào nhiều hơn nhưng thì phải sẽ đó năm lại còn rất bị theo sau việc nếu đang làm hay bạn tôi chúng nó họ ông mà "
    "qua do nên trước thể cần hai số cả",
    "hr": "i u je na se da su za od s a koji o što ne kao to iz koja do koje ili bi će po biti samo ali još više sve "
    "nije ako tko gdje vrijeme prije poslije također uvijek između svih kod nakon tijekom lijepo može bez te sam bio "
    "bila njegov ovaj ova ovo jer dok smo ste hrvatska tijekom vrlo svoje pri nego ljudi",
    "sr": "i u je na se da su za od s a koji o šta ne kao to iz koja do koje ili bi će po biti samo ali još više sve "
    "nije ako ko gde vreme pre posle takođe uvek između svih kod nakon tokom lepo može bez te sam bio bila njegov ovaj "
    "ova ovo jer dok smo ste srbija tokom veoma svoje pri nego ljudi neko",
    "sl": "in je v na se da so za od s z a ki o kaj ne kot to iz do ali bi bo po biti samo še več vse ni če kdo kjer "
    "čas pred tudi vedno med vseh pri po brez sem bil bila bilo njegov ta te ker smo ste zelo svoje pa ter "
    "lahko jih bodo ko vendar tako že kako niso naj tem prav zaradi",
    "lt": "ir kad į iš su yra tai bet kaip jau o ne buvo už apie nuo tik dėl ar iki pat per prie labai būti taip kuris "
    "kuri kurie savo po jo jis ji jie mes jūs gali dar čia metų metais pagal arba todėl tačiau kai jei vienas tarp bus "
    "turi šio šis šią visi visų jų yra nėra",
    "lv": "un ir ka no uz ar par kas tas lai bet gan vai pie pēc tika to viņš bija kā arī nav ko es mēs jūs tikai vēl "
    "šo šī kuru kuri tiek līdz būt savu gada gadā pret bez jau ļoti ja pirms starp var visi tā tie viņa viņi kur tāpēc "
    "jo kad šis šīs kura būs",
    "et": "ja on ei et see ta oli kui mis ka aga oma seda nii ning või ma me te nad selle tema välja veel siis kuid "
    "olla kes nende pärast vaid juba nagu kõik üks enne ole mida saab seal siin sest väga kus midagi mitte aastal "
    "tuleb eesti peab võib olid olnud neid pole",
    "ca": "de la i que el a en els les un per amb una no del es és al com més va són o s l d aquest aquesta però ha "
    "seva seu també ser dels n tot han quan molt pel fins entre anys sobre si això qui hi ja on sense abans després "
    "només em aquests li fer està ens hem pot tots totes altres nosaltres",
    "gl": "de a que o e do da en un para é con non unha os no se na por máis as dos como mais foi ao el das ten á seu "
    "súa ou ser cando moito hai nos xa está eu tamén só polo pola ata iso ela entre era despois sen mesmo aos ter seus "
    "quen nas me ese eles están vostede tiña foron esa nin súas unhas pode onde",
    "eu": "eta da ez du bat ere izan dira zen egin baina dute hori bere zuen den baino dela oso beste ditu bai baita "
    "edo arte nahi dago diren hau gero behar urte duen dituen hala horrek egiten gabe bi asko zuten artean gure euskal "
    "bezala dut ditugu daude badago batean hemen nik",
    "sq": "të e në për dhe me një që nga i së u është si do ka nuk kanë më se janë ky kjo por edhe ishte ai ajo këtë "
    "duke kur pas vetëm mund tij saj tyre disa shumë ato gjatë deri nëse mbi këto çdo ku para unë ju ne jo atë ata",
    "af": "die van en in is het dat op te vir met nie aan om ook as dan maar by nog uit na deur oor hulle hy sy of tot "
    "word was deze meer geen kan al sou wel onder ek haar hom ons so baie moet waar kon hierdie wat teen jaar my jy "
    "daar 'n n sal wees se omdat",
    "is": "og að í á er sem til við það um en með var ekki af fyrir hann eru hún þess þegar þá þar ég eða hefur því "
    "þetta þeir vera frá verið upp eftir svo hafa ár yfir einnig þessi þau einn sér sig mér okkur voru hafði verður "
    "mjög kom undir út hér",
    "ga": "an agus na i ar ar a go is bhí tá le sé ag do sin ach chun seo sí nach ní raibh siad atá faoi ó mar as sa "
    "bhfuil beidh gach nuair leis aige den don ina bliain freisin mé tú muid daoine féin roimh idir",
    "cy": "y yn yr a i o ar ac mae am gan wedi ei eu ond fod oedd bod hyn sydd fel hefyd at ni nid roedd wrth dros "
    "neu cael gyda oherwydd mewn sy chi rydym fe bydd iddo gwaith cymru un ddim ein eich byddai nad pan pob",
    "az": "və bir bu da də üçün ilə olaraq olan daha çox kimi ən nə var o qədər sonra isə deyil ki ancaq hər görə "
    "amma oldu olduğu ya həm mən sən biz siz onun bunun tərəfindən yeni iki böyük öz əgər etmək azərbaycan necə zaman "
    "il ildə bütün artıq",
    "uz": "va bir bu uchun bilan ham edi deb esa emas yoki kabi har shu lekin yil o'zbekiston bo'lgan bo'ldi kerak "
    "qilish haqida uning ular men biz siz nima yangi eng mumkin keyin ko'p barcha hamda tomonidan oʻz boʻlgan edilar",
    "sw": "na ya wa kwa ni katika la za cha hii kuwa hiyo yake huo ambayo kama lakini pia hivyo baada watu ili au "
    "sana wake hao ambao zaidi mtu kila hata alikuwa wakati hakuna huyo yeye sisi wao hapo yao yangu",
    "tl": "ang ng sa na mga at ay si ni para kung hindi siya ito mula may ko ako niya nila kanyang sila kami tayo "
    "dahil isang din rin ngunit pero lamang lang kay nang pa po natin bago noong upang wala mayroon iyon dapat",
    "eo": "la de kaj en estas al ne mi por li ke kun sed estis kiel aŭ ĝi oni pri ili iĝis ankaŭ el tiu ĉi kiu kiuj "
    "sur laŭ post pli nur jam se tio ŝi dum unu plej ol kiam ĝis havas povas tamen ĉiuj tre tiuj vi viaj sia",
    "la": "et in est non ad ut cum quod qui sed si quae ex per esse ab sunt atque enim nec hoc de eius quam autem "
    "vel aut nunc quo quid ille illa erat sit amet lorem ipsum dolor consectetur adipiscing elit vestibulum nulla "
    "tincidunt vitae sed eget pellentesque ac mauris ante turpis",
}
CYRILLIC: Final[Mapping[str, str]] = {
    "ru": "и в не на что с как это по но он к из за то все так его от о для бы же или если был была были только она "
    "мы вы они я меня может уже когда до при более также который которые чтобы есть этого где их ещё еще очень нет",
    "uk": "і в не на що з як це по але він до із за то всі так його від про для б же або якщо був була були тільки "
    "вона ми ви вони я мене може вже коли та при більше також який які щоб є цього де їх ще дуже немає у й",
    "be": "і ў не на што з як гэта па але ён да за то усе так яго ад аб для б ж або калі быў была былі толькі яна мы "
    "вы яны я мяне можа ужо пры больш таксама які якія каб ёсць гэтага дзе іх яшчэ вельмі няма у",
    "bg": "и в не на че с като това по но той към от за то всички така му се да ще са е или ако беше бяха само тя ние "
    "вие те аз може вече когато до при повече също който които има този където им още много няма със във",
    "mk": "и во не на дека со како ова по но тој кон од за тоа сите така му се да ќе се е или ако беше беа само таа "
    "ние вие тие јас може веќе кога до при повеќе исто кој кои има овој каде им уште многу нема што",
    "sr": "и у не на што са као ово по али он ка од за то сви тако му се да ће су је или ако био била само она ми ви "
    "они ја може већ када до при више такође који које има овај где им још много нема из шта",
    "kk": "және бір бұл үшін мен бен де да емес еді деп болып болды бар жоқ ол оның олар біз сіз бойынша туралы кейін "
    "дейін қазақстан жаңа барлық сондай осы керек көп өз арқылы деген",
    "mn": "бол байна нь энэ юм гэж бөгөөд болон тэр би та бид ч биш байсан байгаа монгол дээр хүн улсын оны их мөн "
    "гэсэн хийх болно тухай ямар",
}
ARABIC: Final[Mapping[str, str]] = {
    "ar": "في من على أن إلى التي عن لا ما هذا هذه الذي مع كان أو كل بعد قد لم بين كما ذلك و هو هي ثم حتى قال عند غير "
    "لكن إن أنه هناك كانت تم منذ أي",
    "fa": "و در به از که این را با است برای آن یک خود تا بر هم نیز کرد شد شده می ها های ما او باید اما یا هر بود شود "
    "کند نمی دارد اگر بین پس دو پیش",
    "ur": "کے کی میں ہے اور سے کا کو اس نے کہ پر ہیں یہ ایک بھی تھا نہیں وہ کر گیا تو ہو جو تھی ان کیا لیے ہی ساتھ بعد "
    "گئی رہے آپ اپنے",
    "ps": "په د او چې کې له ته دی سره یو هم دا یې به ده نه دي شوی وو کړي کړل هغه لپاره",
}
DEVANAGARI: Final[Mapping[str, str]] = {
    "hi": "के में की है और से का को पर यह ने हैं एक भी कि इस नहीं तो ही कर वह था हो जो लिए गया साथ अपने थे कहा करने या",
    "mr": "आणि आहे या व ते हे तर एक ही होते आहेत मध्ये नाही केली केले होता असे काही करण्यात म्हणून त्या यांनी मी पण किंवा",
    "ne": "र को मा छ हो छन् पनि गर्न भएको यो लागि गरेको एक भने थियो गर्ने तथा हुन् भन्ने नेपाल त्यो उनी तर सबै यस वा",
}

DISTINCTIVE_LETTERS: Final[Mapping[str, str]] = {
    "de": "ßäöü",
    "pl": "łąęśźżń",
    "cs": "ěřůšžč",
    "sk": "ľĺŕšžč",
    "hu": "őűöü",
    "ro": "șțăşţ",
    "tr": "ğışöü",
    "az": "əğışöü",
    "pt": "ãõ",
    "es": "ñ¿¡",
    "gl": "ñ",
    "fr": "œèêç",
    "ca": "ŀç",
    "sv": "åäö",
    "da": "åøæ",
    "no": "åøæ",
    "is": "ðþ",
    "fi": "äö",
    "et": "õäöü",
    "lt": "ėįųąę",
    "lv": "āēīģķļņ",
    "sq": "ëç",
    "eo": "ĉĝĥĵŝŭ",
    "vi": "ơưđạảấầậắặếệểễốồộổớờợởủứừựữịọ",
    "hr": "đćšžč",
    "sr": "đćšžčјљњћђџ",
    "cy": "ŵŷ",
    "sl": "šžč",
    "ru": "ыэё",
    "uk": "іїєґ",
    "be": "ўыіэё",
    "bg": "ъ",
    "mk": "ѓќѕјљњџ",
    "kk": "қңғұһәіөүы",
    "mn": "өүыэ",
    "ar": "ةىأإ",
    "fa": "پچژگیک",
    "ur": "ٹڈڑںےہپچگیک",
    "ps": "ټډړښځڅې",
    "mr": "ळ",
}
"""Letters that only few languages of a script use. Each is evidence for these languages."""

SINGLE_LANGUAGE_RANGES: Final[tuple[tuple[int, int, str], ...]] = (
    (0x0370, 0x03FF, "el"),
    (0x0530, 0x058F, "hy"),
    (0x0590, 0x05FF, "he"),
    (0x0780, 0x07BF, "dv"),
    (0x0980, 0x09FF, "bn"),
    (0x0A00, 0x0A7F, "pa"),
    (0x0A80, 0x0AFF, "gu"),
    (0x0B00, 0x0B7F, "or"),
    (0x0B80, 0x0BFF, "ta"),
    (0x0C00, 0x0C7F, "te"),
    (0x0C80, 0x0CFF, "kn"),
    (0x0D00, 0x0D7F, "ml"),
    (0x0D80, 0x0DFF, "si"),
    (0x0E00, 0x0E7F, "th"),
    (0x0E80, 0x0EFF, "lo"),
    (0x0F00, 0x0FFF, "bo"),
    (0x1000, 0x109F, "my"),
    (0x10A0, 0x10FF, "ka"),
    (0x1200, 0x137F, "am"),
    (0x1780, 0x17FF, "km"),
)
"""Unicode blocks that belong to one language, or nearly so: first, last, language."""

SIMILAR_LANGUAGES: Final[tuple[frozenset[str], ...]] = tuple(
    frozenset(names.split())
    for names in (
        "no nb nn",
        "hr sr bs sh cnr",
        "id ms",
        "zh yue wuu nan hak lzh",
        "he iw yi",
        "tl fil",
        "fa prs tg",
        "bn as",
        "am ti",
        "hi mai bho",
        "ar arz ary apc",
        "ur pnb",
    )
)
"""Languages that cannot be distinguished by their most common words or script. For these, the declaration of the page
decides."""
