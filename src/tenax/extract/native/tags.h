/* lexbor's tag numbers. Python compares them when the library is loaded. */
#ifndef TENAX_TAGS_H
#define TENAX_TAGS_H

#define EACH_TAG(TAG) \
    TAG(a, 7) TAG(address, 10) TAG(area, 19) TAG(article, 20) TAG(aside, 21) TAG(audio, 22) TAG(b, 23) \
    TAG(base, 24) TAG(blockquote, 31) TAG(body, 32) TAG(br, 33) TAG(button, 34) TAG(canvas, 35) TAG(caption, 36) \
    TAG(center, 37) TAG(code, 40) TAG(datalist, 44) TAG(dd, 45) TAG(details, 48) TAG(dialog, 50) TAG(dir, 51) \
    TAG(div, 52) TAG(dl, 53) TAG(dt, 54) TAG(em, 55) TAG(fieldset, 82) TAG(figcaption, 83) TAG(figure, 84) \
    TAG(footer, 86) TAG(form, 88) TAG(frameset, 90) TAG(h1, 92) TAG(h2, 93) TAG(h3, 94) TAG(h4, 95) TAG(h5, 96) \
    TAG(h6, 97) TAG(head, 98) TAG(header, 99) TAG(hgroup, 100) TAG(hr, 101) TAG(html, 102) TAG(i, 103) \
    TAG(iframe, 104) TAG(img, 106) TAG(input, 107) TAG(kbd, 110) TAG(legend, 113) TAG(li, 114) TAG(link, 116) \
    TAG(listing, 117) TAG(main, 118) TAG(menu, 124) TAG(meta, 125) TAG(nav, 135) TAG(noembed, 138) \
    TAG(noframes, 139) TAG(noscript, 140) TAG(ol, 142) TAG(optgroup, 143) TAG(option, 144) TAG(p, 146) \
    TAG(plaintext, 150) TAG(pre, 151) TAG(rp, 156) TAG(rt, 157) TAG(samp, 161) TAG(script, 162) TAG(search, 163) \
    TAG(section, 164) TAG(select, 165) TAG(strong, 173) TAG(style, 174) TAG(summary, 176) TAG(svg, 178) \
    TAG(table, 179) TAG(tbody, 180) TAG(td, 181) TAG(template, 182) TAG(textarea, 183) TAG(tfoot, 185) \
    TAG(th, 186) TAG(thead, 187) TAG(time, 188) TAG(title, 189) TAG(tr, 190) TAG(tt, 192) TAG(ul, 194) \
    TAG(video, 196) TAG(xmp, 198)

#define TAG_NUMBER(name, number) TAG_##name = number,
enum { EACH_TAG(TAG_NUMBER) TAG_COUNT = 256 };
#undef TAG_NUMBER

#endif
