/* Our numbers of the tags that the rules name. The parser's own numbers come from Python when the library is loaded. */
#ifndef TENAX_TAGS_H
#define TENAX_TAGS_H

#define EACH_TAG(TAG) \
    TAG(a) TAG(address) TAG(area) TAG(article) TAG(aside) TAG(audio) TAG(b) TAG(base) TAG(blockquote) TAG(body) \
    TAG(br) TAG(button) TAG(canvas) TAG(caption) TAG(center) TAG(code) TAG(datalist) TAG(dd) TAG(details) \
    TAG(dialog) TAG(dir) TAG(div) TAG(dl) TAG(dt) TAG(em) TAG(fieldset) TAG(figcaption) TAG(figure) TAG(footer) \
    TAG(form) TAG(frameset) TAG(h1) TAG(h2) TAG(h3) TAG(h4) TAG(h5) TAG(h6) TAG(head) TAG(header) TAG(hgroup) \
    TAG(hr) TAG(html) TAG(i) TAG(iframe) TAG(img) TAG(input) TAG(kbd) TAG(legend) TAG(li) TAG(link) TAG(listing) \
    TAG(main) TAG(menu) TAG(meta) TAG(nav) TAG(noembed) TAG(noframes) TAG(noscript) TAG(ol) TAG(optgroup) \
    TAG(option) TAG(p) TAG(plaintext) TAG(pre) TAG(rp) TAG(rt) TAG(samp) TAG(script) TAG(search) TAG(section) \
    TAG(select) TAG(strong) TAG(style) TAG(summary) TAG(svg) TAG(table) TAG(tbody) TAG(td) TAG(template) \
    TAG(textarea) TAG(tfoot) TAG(th) TAG(thead) TAG(time) TAG(title) TAG(tr) TAG(tt) TAG(ul) TAG(video) TAG(xmp)

#define TAG_NUMBER(name) TAG_##name,
enum {
    TAG_unknown,    /* any other element */
    TAG_other,      /* a comment, for example */
    TAG_text,
    EACH_TAG(TAG_NUMBER)
    TAG_COUNT
};
#undef TAG_NUMBER

#endif
