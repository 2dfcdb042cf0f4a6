// The course: its chapters, each with places to play what it tells. Their markup is the renderer's own, made when the page was built.

const course = {
  open: false,
  drawn: '', // which chapter the text is
  placed: 0, // how far the page was scrolled to show a place

  async init() {
    this.all = await unpack('chapters');
    this.languages = [...new Set(this.all.map(c => c.lang))];
    $('text').addEventListener('click', e => this.played(e.target.closest('.act')));
    addEventListener('scroll', () => this.follow(), {passive: true});
  },

  // of is the course in a language, and a chapter's number in it, or -1.
  of(s) {
    const lang = this.languages.includes(s.lang) ? s.lang : blank().lang, chapters = this.all.filter(c => c.lang === lang);
    return {lang, chapters, number: s.chapter ? chapters.findIndex(c => c.name === s.chapter) : 0};
  },

  // place is the address of a chapter.
  place(chapter, lang = page.state.lang, at = '') {
    const q = new URLSearchParams(chapter ? {chapter} : {});
    if (lang !== blank().lang) q.set('lang', lang);
    if (at) q.set('at', at);
    return '#read?' + q;
  },

  // turn leads from what is played back to the place in the chapter.
  turn(s) {
    const {chapters, lang, number} = this.of(s), known = s.chapter && number >= 0, left = this.open && s.mode !== 'read';
    this.open = s.mode === 'read';
    $('back').hidden = !known;
    if (known) leads('back', this.place(s.chapter, lang, s.at), '← ' + chapters[number].title, lang);
    if (!left) return;
    scrollTo(0, 0);
    const focused = document.activeElement;
    if (focused === document.body || $('course').contains(focused)) $('back').focus(); // the link that was followed is gone
  },

  // show draws the chapter, if another is drawn, and goes to the place.
  show(s) {
    const {chapters, lang, number} = this.of(s), n = Math.max(0, number), chapter = chapters[n];
    if (number < 0) trouble(`There is no chapter ${s.chapter}.`);
    Object.assign(s, {chapter: chapter.name, lang});
    $('status').textContent = '';
    const key = lang + '/' + chapter.name, moved = this.drawn && this.drawn !== key;
    if (this.drawn !== key) {
      $('text').innerHTML = chapter.html;
      $('text').lang = lang;
      this.drawn = key;
    }
    options('chapter', chapters.map(c => [c.name, c.title]), chapter.name);
    this.drawTongue(s);
    for (const [id, to, words] of [['before', chapters[n - 1], t => '← ' + t], ['after', chapters[n + 1], t => t + ' →']]) {
      $(id).hidden = !to;
      if (to) leads(id, this.place(to.name, lang), words(to.title), lang);
    }
    this.go(s.at, moved);
  },

  // go shows a place of the chapter, or its beginning if the reader has come from another.
  go(at, moved) {
    const place = at && [...$('text').querySelectorAll('[id]')].find(e => e.id === at);
    if (place) place.scrollIntoView();
    else if (moved) scrollTo(0, 0);
    this.placed = scrollY;
    if (place || moved) (place || $('text').querySelector('h2')).focus({preventScroll: true});
  },

  // follow keeps the address at the place that the reader has scrolled to.
  follow() {
    const s = page.state;
    if (!s || s.mode !== 'read' || Math.abs(scrollY - this.placed) < 2) return;
    const above = [...$('text').querySelectorAll('[id]')].filter(e => e.getBoundingClientRect().top < TOP), at = above.length ? above[above.length - 1].id : '';
    if (at !== s.at) this.mark(at);
  },

  // mark writes a place into the address.
  mark(at) {
    page.state.at = at;
    history.replaceState(null, '', this.place(page.state.chapter, page.state.lang, at));
    this.drawTongue(page.state);
  },

  // drawTongue leads to the same place in the other language.
  drawTongue(s) {
    const other = this.languages.find(lang => lang !== s.lang);
    leads('tongue', this.place(s.chapter, other, s.at), TONGUES[other], other);
  },

  // played opens what the command prints, which the reader is about to see, and marks the place to come back to.
  played(link) {
    if (!link) return;
    const command = link.closest('.command');
    for (const prints of command.querySelectorAll('details')) prints.open = true;
    this.mark(command.id);
  },
};

// TOP is how near to the top of the window, in pixels, a place has been reached.
const TOP = 40;

const TONGUES = {en: 'English', 'zh-CN': '中文'};

function leads(id, href, text, lang) {
  $(id).setAttribute('href', href);
  $(id).textContent = text;
  $(id).lang = lang;
}
