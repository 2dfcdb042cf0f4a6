// The worker unpacks the lab and starts it. From then on the lab answers the messages itself.
onmessage = async e => {
  try {
    const letters = atob(e.data.wasm), packed = new Uint8Array(letters.length);
    for (let i = 0; i < packed.length; i++) packed[i] = letters.charCodeAt(i); // Uint8Array.from takes ten times as long
    const code = new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate-raw')), {headers: {'Content-Type': 'application/wasm'}});
    const go = new Go(), {instance} = await WebAssembly.instantiateStreaming(code, go.importObject); // compiled while it is unpacked
    go.run(instance).then(() => postMessage({ended: 'The lab has ended. Reload the page.'}));
  } catch (err) {
    postMessage({ended: 'The lab cannot run here: ' + err});
  }
};
