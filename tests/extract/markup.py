"""Random markup for property tests: elements of every kind the walk knows, nested and unclosed."""

from __future__ import annotations

from hypothesis import strategies as st

_TAGS = """
<p> </p> <div> </div> <div_class=nav> <div_class='article_body'> <div_hidden> <section> </section> <ul> <li> </ul>
<table> <tr> <td> <th> </table> <b> </b> <a_href=/x> </a> <a> <br> <hr> <img_src=i> <input> <button> </button>
<select> <option> </select> <pre> </pre> <h1> </h1> <h2> </h2> <blockquote> </blockquote> <article> </article>
<script> </script> <style> </style> <noscript> </noscript> <svg> </svg> <template> </template> <iframe> </iframe>
<title> </title> <meta_name=x> <textarea> </textarea> <details> <summary> <nav> </nav> <dl> <dt> <dd> <!-- -->
"""
_PIECES = st.sampled_from([piece.replace("_", " ") for piece in _TAGS.split()])
_WORDS = st.sampled_from(
    ["word", "two words", ", and.", "日本語。", "één", " ", "\n", "&nbsp;", "&amp;", "\u200b", "x" * 90]
)
MARKUP = st.lists(_PIECES | _WORDS, max_size=60).map("".join)
