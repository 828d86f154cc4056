// Long work in short pieces: the page answers in between.

const PIECE_MS = 20;
const LOOK_EVERY = 16;

/** Let the browser paint and answer. */
export function breath() {
  return new Promise((resolve) => { setTimeout(resolve, 0); });
}

/** Do something with each of many, and take a breath whenever it takes long. */
export async function each(items, work) {
  let began = performance.now();
  for (let place = 0; place < items.length; place += 1) {
    work(items[place], place);
    if (place % LOOK_EVERY === 0 && performance.now() - began > PIECE_MS) {
      await breath();
      began = performance.now();
    }
  }
}
