/** What clips may be. */
export const MEDIA_TYPES = ['video/mp4', 'video/webm', 'image/gif'] as const;
export type MediaType = (typeof MEDIA_TYPES)[number];

/** The kinds of MP4 that browsers play. Of the same family are QuickTime (`qt  `), pictures (`heic`, `avif`) and sound (`M4A `). */
const MP4_BRANDS = /^(?:isom|iso[2-9]|isoa|isob|isoc|mp4[12]|mp71|avc1|dash|msdh|MSNV|M4V |M4VH|M4VP|f4v )$/;
const FTYP_HEADER_BYTES = 16;
const EBML = 0x1a45dfa3;
const DOC_TYPE = 0x4282;

/**
 * What a file is, by its first bytes: at least 4 KB of it, or all of it.
 * @returns null for anything else
 */
export function mediaTypeOf(head: Buffer): MediaType | null {
  if (isMp4(head)) return 'video/mp4';
  if (docTypeOf(head) === 'webm') return 'video/webm';
  return isGif(head) ? 'image/gif' : null;
}

/** It begins with a box `ftyp`, which names its brand. */
function isMp4(head: Buffer): boolean {
  if (head.length < FTYP_HEADER_BYTES || head.readUInt32BE(0) < FTYP_HEADER_BYTES) return false;
  return head.toString('latin1', 4, 8) === 'ftyp' && MP4_BRANDS.test(head.toString('latin1', 8, 12));
}

/** A signature, and a screen that has a size. */
function isGif(head: Buffer): boolean {
  return /^GIF8[79]a$/.test(head.toString('latin1', 0, 6)) && head.length >= 13 && head.readUInt16LE(6) > 0 && head.readUInt16LE(8) > 0;
}

/** The document type in the header of an EBML file: WebM is one of several. */
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

/** A size as EBML writes it: as many zero bits as there are further bytes, a one, and the rest is the number. */
function sizeAt(head: Buffer, at: number): { value: number; next: number } | null {
  const first = head[at] ?? 0;
  const next = at + Math.clz32(first) - 23;
  if (first === 0 || next > head.length) return null;
  const value = head.subarray(at + 1, next).reduce((sum, byte) => sum * 256 + byte, first & (0xff >> (next - at)));
  return { value, next };
}
