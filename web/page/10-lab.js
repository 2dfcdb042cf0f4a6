'use strict';
// The lab runs in a worker, so that the page never waits for it. A question has one answer.

const lab = {
  waiting: new Map(),
  asked: 0,

  start() {
    const code = new Blob([$('worker').textContent], {type: 'text/javascript'});
    this.worker = new Worker(URL.createObjectURL(code));
    this.ready = new Promise((ready, failed) => {
      this.worker.onmessage = ({data}) => {
        if (data.ready) ready();
        else if (data.ended) { trouble(data.ended); failed(new Error(data.ended)); }
        else if (data.progress) searching(data);
        else {
          this.waiting.get(data.id)(JSON.parse(data.answer));
          this.waiting.delete(data.id);
        }
      };
      this.worker.onerror = e => { trouble('The lab cannot run here: ' + (e.message || 'its worker does not start')); failed(e); };
    });
    this.worker.postMessage({wasm: $('wasm').textContent});
    return this.ready;
  },

  // ask asks the lab; an answer with an error is the answer.
  ask(question) {
    return new Promise(answered => {
      this.waiting.set(++this.asked, answered);
      this.worker.postMessage({id: this.asked, question: JSON.stringify(question)});
    });
  },

  // stop ends a search.
  stop() { this.worker.postMessage({stop: true}); },
};

function trouble(text) {
  $('trouble').textContent = text;
  $('trouble').hidden = !text;
}
