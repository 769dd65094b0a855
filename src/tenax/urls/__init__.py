"""URLs: made equal, judged for scope, ranked, and checked for traps.

Everything here is pure. The life of a link: `normalize` makes one spelling of it; `admit` asks `scope`, `patterns`,
depth and `traps` in that order and answers with an `Offer`, or counts a refusal in the name of the rule; `classify`
gives the offer its priority. `seeds` reads what a person typed. `verdicts` tells the same decisions in sentences,
for `tenax explain`.

The promises: `normalize` of its own answer is that answer, whatever the input was, and holds no credentials. Two
links to one page have one URL. No rule takes more than linear time in the URL's length. What is remembered between
pages changes how fast an answer comes, never the answer.
"""
