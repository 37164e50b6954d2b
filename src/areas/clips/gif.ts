/** Bytes of the header and the logical screen descriptor. */
const HEADER_BYTES = 13;
const EXTENSION = 0x21;
const IMAGE = 0x2c;
const TRAILER = 0x3b;

/** Returns the bytes of a color table that a byte of flags announces. */
const colorTableBytes = (flags: number): number => (flags & 0x80 ? 3 * 2 ** ((flags & 7) + 1) : 0);

/** The meaning of the next byte of a file; after `end` there is none. */
type Expected = 'screen flags' | 'block' | 'image flags' | 'data' | 'end';

/**
 * Returns whether a file is a GIF from the first to the last byte: blocks of the format with at least one image, and nothing after the trailer. Reads
 * the bytes of a chunk without waiting, because a file may consist of millions of tiny blocks.
 * Precondition: the file begins with a GIF signature.
 */
export async function isGif(source: AsyncIterable<Buffer>): Promise<boolean> {
  let expected: Expected = 'screen flags';
  // Bytes to pass over before the next byte counts.
  let skip = HEADER_BYTES - 3;
  let images = 0;
  for await (const chunk of source) {
    for (let at = 0; ; ) {
      const here = Math.min(skip, chunk.length - at);
      at += here;
      skip -= here;
      if (at === chunk.length) break;
      const byte = chunk.readUInt8(at++);
      if (expected === 'screen flags') {
        // The color table, the index of the background color and the aspect ratio.
        skip = colorTableBytes(byte) + 2;
        expected = 'block';
      } else if (expected === 'image flags') {
        // The color table of the image, and the size of its codes.
        skip = colorTableBytes(byte) + 1;
        expected = 'data';
      } else if (expected === 'data') {
        // The size of a data sub-block; 0 ends the block.
        skip = byte;
        if (byte === 0) expected = 'block';
      } else if (expected === 'block' && byte === EXTENSION) {
        // The label of the extension.
        skip = 1;
        expected = 'data';
      } else if (expected === 'block' && byte === IMAGE) {
        images += 1;
        // Position and size.
        skip = 8;
        expected = 'image flags';
      } else if (expected === 'block' && byte === TRAILER && images > 0) expected = 'end';
      else return false;
    }
  }
  return expected === 'end';
}
