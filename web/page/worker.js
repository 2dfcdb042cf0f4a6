// The worker unpacks the lab and starts it. From then on the lab answers the messages itself.
onmessage = async e => {
  try {
    const packed = Uint8Array.from(atob(e.data.wasm), c => c.charCodeAt(0));
    const code = await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate-raw'))).arrayBuffer();
    const go = new Go(), {instance} = await WebAssembly.instantiate(code, go.importObject);
    go.run(instance).then(() => postMessage({ended: 'The lab has ended. Reload the page.'}));
  } catch (err) {
    postMessage({ended: 'The lab cannot run here: ' + err});
  }
};
