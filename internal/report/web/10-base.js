'use strict';
// What all parts of the page share: elements, words for times and values, and the data that lie compressed in it.

const $ = id => document.getElementById(id);

// el makes an element: el('a.link', {href: '#'}, 'text', child …). Text is never read as markup.
function el(tag, attrs, ...children) {
  const [name, ...classes] = tag.split('.');
  const node = document.createElement(name);
  if (classes.length) node.className = classes.join(' ');
  for (const [key, value] of Object.entries(attrs || {})) {
    if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
    else if (value === true) node.setAttribute(key, '');
    else if (value !== false && value != null) node.setAttribute(key, value);
  }
  node.append(...children.flat(Infinity).filter(c => c !== '' && c != null && c !== false));
  return node;
}

const SVG = 'http://www.w3.org/2000/svg';
function svg(name, attrs, ...children) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attrs || {})) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

// clean shows what could turn the direction of writing, or cannot be seen, as an escape.
const clean = s => String(s).replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g, c => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'));
const clip = (s, n) => { const all = [...s]; return all.length <= n ? s : all.slice(0, n - 1).join('') + '…'; };

// short is a value as a person would write it: a long token by its beginning, an object without its braces.
const short = s => clean(/^[\w:+/=-]{17,}$/.test(s) ? s.slice(0, 6) + '…' : clip(s.replace(/[{}"\\]/g, ''), 44));
// keyName is a key without the number of its cell, or by a page's own name for it.
const keyNames = new Map();
const keyName = key => keyNames.get(key) || clean(key.replace(/^(?:lab:|locklab:)?\d+:/, ''));

const number = (n, digits) => (+n.toFixed(digits)).toString();
// span is a length of time, given in milliseconds.
const span = ms => ms < 1 ? number(ms, 1) + ' ms' : ms < 1000 ? number(ms, ms < 10 ? 1 : 0) + ' ms' : number(ms / 1000, 3) + ' s';
// stamp is a moment.
const stamp = ms => (ms / 1000).toFixed(3) + ' s';
const plural = (n, one, many) => n + ' ' + (n === 1 ? one : many);

// unpack reads data of the page.
const unpacked = {};
function unpack(id) {
  return unpacked[id] = unpacked[id] || (async () => {
    const packed = Uint8Array.from(atob($(id).textContent), c => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
    return JSON.parse(await new Response(stream).text());
  })();
}

const CLASSES = ['safe', 'broken', 'na', 'unknown', 'surprise', 'failed'];
const CLASS_WORDS = {safe: 'safe', broken: 'broken', na: 'n/a', unknown: 'unknown', surprise: 'SURPRISE', failed: 'FAILED'};
