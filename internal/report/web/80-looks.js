// Looks: light, dark or as the system has it, and large for a projector. A page that cannot remember goes without.
const looks = {
  get(key) { try { return localStorage.getItem('locklab-' + key) || ''; } catch { return ''; } },
  set(key, value) {
    try { localStorage.setItem('locklab-' + key, value); } catch { /* a page from a file may not */ }
    this.apply(key, value);
  },
  apply(key, value) {
    document.documentElement.dataset[key] = value;
    $(key).setAttribute('aria-pressed', String(!!value));
  },
  // init has the buttons do it; resized is called when all has another size.
  init(resized) {
    for (const key of ['theme', 'large']) this.apply(key, this.get(key));
    const dark = matchMedia('(prefers-color-scheme: dark)');
    $('theme').addEventListener('click', () => this.set('theme', document.documentElement.dataset.theme ? '' : dark.matches ? 'light' : 'dark'));
    $('large').addEventListener('click', () => { this.set('large', document.documentElement.dataset.large ? '' : '1'); resized(); });
  },
};
