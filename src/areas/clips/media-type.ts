/** Accepted media types of clips. */
export const MEDIA_TYPES = ['video/mp4', 'video/webm', 'image/gif'] as const;
export type MediaType = (typeof MEDIA_TYPES)[number];

/** Brands of MP4 that browsers play. Excludes related formats: QuickTime (`qt  `), images (`heic`, `avif`) and audio (`M4A `). */
const MP4_BRANDS = /^(?:isom|iso[2-9]|isoa|isob|isoc|mp4[12]|mp71|avc1|dash|msdh|MSNV|M4V |M4VH|M4VP|f4v )$/;
const FTYP_HEADER_BYTES = 16;
const EBML = 0x1a45dfa3;
const DOC_TYPE = 0x4282;

/**
 * Detects the media type of a file from its content.
 * @param head beginning of the file: at least 4 KB, or the whole file if it is shorter
 * @returns null for a type that is not accepted
 */
export function mediaTypeOf(head: Buffer): MediaType | null {
  if (isMp4(head)) return 'video/mp4';
  if (docTypeOf(head) === 'webm') return 'video/webm';
  return isGif(head) ? 'image/gif' : null;
}

/** Returns whether the file begins with an `ftyp` box of an accepted brand. */
function isMp4(head: Buffer): boolean {
  if (head.length < FTYP_HEADER_BYTES || head.readUInt32BE(0) < FTYP_HEADER_BYTES) return false;
  return head.toString('latin1', 4, 8) === 'ftyp' && MP4_BRANDS.test(head.toString('latin1', 8, 12));
}

/** Returns whether the file begins with a GIF signature, followed by a width and a height above 0. */
function isGif(head: Buffer): boolean {
  return /^GIF8[79]a$/.test(head.toString('latin1', 0, 6)) && head.length >= 13 && head.readUInt16LE(6) > 0 && head.readUInt16LE(8) > 0;
}

/** Returns the document type from the header of an EBML file, such as `webm`; null for other files. */
function docTypeOf(head: Buffer): string | null {
  if (head.length < 5 || head.readUInt32BE(0) !== EBML) return null;
  const header = sizeAt(head, 4);
  if (!header) return null;
  const end = Math.min(head.length, header.next + header.value);
  for (let at = header.next; at + 2 < end; ) {
    const idBytes = Math.clz32(head[at] ?? 0) - 23;
    const size = sizeAt(head, at + idBytes);
    if (idBytes > 4 || !size || size.next + size.value > end) return null;
    if (idBytes === 2 && head.readUInt16BE(at) === DOC_TYPE) return head.toString('latin1', size.next, size.next + size.value).replace(/\0+$/, '');
    at = size.next + size.value;
  }
  return null;
}

/**
 * Reads a variable-length EBML size at `at`. The number of leading zero bits in the first byte is the number of further bytes. The value consists of
 * all bits after the first 1 bit.
 * @returns the value, and the offset of the next byte; null when the size is invalid
 */
function sizeAt(head: Buffer, at: number): { value: number; next: number } | null {
  const first = head[at] ?? 0;
  const next = at + Math.clz32(first) - 23;
  if (first === 0 || next > head.length) return null;
  const value = head.subarray(at + 1, next).reduce((sum, byte) => sum * 256 + byte, first & (0xff >> (next - at)));
  return { value, next };
}
