import { encodeQR } from 'qr';

/** Modules of quiet zone on each side. Readers need it to find the code. */
const QUIET = 4;

/**
 * Draws a QR code as a dark path on a light square.
 * @param size width and height including the quiet zone, px
 * @returns SVG
 */
export function qrCode(text: string, x: number, y: number, size: number, colors: { readonly dark: string; readonly light: string }): string {
  const data = encodeQR(text, 'raw', { ecc: 'low', border: QUIET });
  const path = data.flatMap((row, top) => row.map((isDark, left) => (isDark ? `M${left} ${top}h1v1h-1z` : ''))).join('');
  // Modules without antialiasing leave no light gaps between neighbours.
  return `<rect x="${x}" y="${y}" width="${size}" height="${size}" rx="8" fill="${colors.light}"/><path transform="translate(${x} ${y}) scale(${
    size / data.length
  })" d="${path}" fill="${colors.dark}" shape-rendering="crispEdges"/>`;
}
