import type { Card, Tone } from './card.ts';
import { qrCode } from './qr-code.ts';
import { CARD_SIZE } from './size.ts';
import { cut, drawableText, type Style, shrink, textElement, widthOf, wrap } from './text.ts';

const { width: W, height: H } = CARD_SIZE;
/** Left and right edges of the content, px. */
const LEFT = 84;
const RIGHT = W - LEFT;
const WIDTH = RIGHT - LEFT;
/** Position and size of the QR code, px, and width of the content to its left. */
const CODE = { x: RIGHT - 172, y: 386, size: 172 } as const;
const LOWER_WIDTH = WIDTH - CODE.size - 26;

const INK = { text: '#f7f2ff', dim: '#b3a6d9', cyan: '#3fe9ff', pink: '#ff4fa3', gold: '#ffd54a', dark: '#1a0d2e' } as const;
const TONES: Readonly<Record<Tone, string>> = { open: '#4dffa0', sealed: '#3fe9ff', drawn: '#ffd54a', off: '#9b8fb8' };
/** Gradients of the balls of a drawn round: the color of the middle and of the edge. */
const BALLS = [
  ['#ffe78a', '#f5a300'],
  ['#ff9ccb', '#e0186f'],
  ['#a5f6ff', '#0a9cc9'],
  ['#b9ffcf', '#14a85b'],
  ['#ffc2a0', '#f0561d'],
] as const;

type Anchor = 'start' | 'middle' | 'end';
const text = (content: string, x: number, y: number, style: Style, fill: string, anchor: Anchor = 'start') =>
  textElement(content, style, `x="${x}" y="${y}" fill="${fill}" text-anchor="${anchor}"`);

/** Draws a card. @returns SVG */
export function drawCard(card: Card): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${W}" height="${H}" viewBox="0 0 ${W} ${H}">${definitions()}${cabinet(card)}${header(card)}${
    card.ticket === null ? balls(card) : ticket(card.ticket, card)
  }${stats(card)}${card.winners.length > 0 ? winners(card) : note(card)}${footer(card)}${code(card)}</svg>`;
}

function definitions(): string {
  const spheres = BALLS.map(
    ([middle, edge], i) =>
      `<radialGradient id="ball${i}" cx="38%" cy="30%" r="75%"><stop offset="0" stop-color="${middle}"/><stop offset="1" stop-color="${edge}"/></radialGradient>` +
      `<radialGradient id="glow${i}"><stop offset=".45" stop-color="${middle}" stop-opacity=".55"/><stop offset="1" stop-color="${edge}" stop-opacity="0"/></radialGradient>`,
  );
  return `<defs>
    <linearGradient id="sky" x2="0" y2="1"><stop offset="0" stop-color="#12072b"/><stop offset=".62" stop-color="#24104f"/><stop offset="1" stop-color="#3b1266"/></linearGradient>
    <radialGradient id="dusk" cx="50%" cy="100%" r="75%"><stop offset="0" stop-color="#ff4fa3" stop-opacity=".42"/><stop offset="1" stop-color="#ff4fa3" stop-opacity="0"/></radialGradient>
    <radialGradient id="bulb"><stop offset="0" stop-color="#fff6cf"/><stop offset=".28" stop-color="#ffd54a"/><stop offset=".4" stop-color="#ffae00" stop-opacity=".5"/><stop offset="1" stop-color="#ff7a00" stop-opacity="0"/></radialGradient>
    <linearGradient id="fade" x2="0" y2="1"><stop offset="0" stop-color="#3fe9ff" stop-opacity="0"/><stop offset="1" stop-color="#3fe9ff" stop-opacity=".3"/></linearGradient>
    <radialGradient id="glass" cx="38%" cy="30%" r="80%"><stop offset="0" stop-color="#5a4690"/><stop offset="1" stop-color="#1d1040"/></radialGradient>
    ${spheres.join('')}</defs>`;
}

/** Draws the background, the perspective grid and the frame with lamps. */
function cabinet({ badge }: Card): string {
  const horizon = 470;
  const rays = Array.from({ length: 25 }, (_, i) => `M${W / 2 + (i - 12) * 46} ${horizon}L${W / 2 + (i - 12) * 190} ${H}`).join('');
  const rungs = [0, 14, 36, 68, 112].map((y) => `M0 ${horizon + y}H${W}`).join('');
  return `<rect width="${W}" height="${H}" fill="url(#sky)"/><rect width="${W}" height="${H}" fill="url(#dusk)"/>
    <path d="${rays}${rungs}" stroke="url(#fade)" stroke-width="2" fill="none"/>
    <rect x="22" y="22" width="${W - 44}" height="${H - 44}" rx="26" fill="none" stroke="#0b0420" stroke-width="26"/>
    <rect x="36" y="36" width="${W - 72}" height="${H - 72}" rx="16" fill="#0d0524" fill-opacity=".62" stroke="${TONES[badge.tone]}" stroke-opacity=".65" stroke-width="2"/>
    ${lamps(badge.tone !== 'off')}`;
}

/**
 * Draws the lamps on the frame.
 * @param isOn whether every second lamp is lit; otherwise all lamps are dark
 */
function lamps(isOn: boolean): string {
  const [columns, rows] = [32, 16];
  const between = (from: number, to: number, i: number, of: number) => Math.round(from + ((to - from) * i) / of);
  const [left, top, right, bottom] = [22, 22, W - 22, H - 22];
  const ring = [
    ...Array.from({ length: columns }, (_, i) => [between(left, right, i, columns), top]),
    ...Array.from({ length: rows }, (_, i) => [right, between(top, bottom, i, rows)]),
    ...Array.from({ length: columns }, (_, i) => [between(right, left, i, columns), bottom]),
    ...Array.from({ length: rows }, (_, i) => [left, between(bottom, top, i, rows)]),
  ];
  return ring
    .map(([x, y], i) =>
      isOn && i % 2 === 0
        ? `<circle cx="${x}" cy="${y}" r="15" fill="url(#bulb)"/>`
        : `<circle cx="${x}" cy="${y}" r="5" fill="#4a3568" stroke="#2a1a48" stroke-width="2"/>`,
    )
    .join('');
}

const TITLE: Style = { size: 62, weight: 800 };
const TITLE_OF_TWO: Style = { size: 44, weight: 800 };

function header({ kind, title, fallbackTitle, badge }: Card): string {
  const label: Style = { size: 24, weight: 800, spacing: 4 };
  const brand = text('COINOP', LEFT, 96, label, INK.pink);
  const what = text(kind, LEFT + widthOf('COINOP', label) + 18, 96, { ...label, weight: 500 }, INK.dim);
  const sign: Style = { size: 26, weight: 800, spacing: 3 };
  const tone = TONES[badge.tone];
  const wide = Math.ceil(widthOf(badge.text, sign)) + 48;
  const plate = `<rect x="${RIGHT - wide}" y="62" width="${wide}" height="48" rx="24" fill="${tone}" fill-opacity=".16" stroke="${tone}" stroke-width="2.5"/>`;
  return brand + what + plate + text(badge.text, RIGHT - wide / 2, 95, sign, tone, 'middle') + titleLines(drawableText(title) ?? fallbackTitle);
}

function titleLines(title: string): string {
  const isShort = widthOf(title, TITLE) * TITLE_OF_TWO.size <= WIDTH * TITLE.size;
  const { style, lines } = isShort
    ? { style: shrink(title, TITLE, WIDTH, TITLE_OF_TWO.size).style, lines: [title] }
    : { style: TITLE_OF_TWO, lines: wrap(title, TITLE_OF_TWO, WIDTH, 2) };
  const first = lines.length === 1 ? 180 : 152;
  return lines
    .map((line, i) => {
      const y = first + i * 48;
      // Three wide faint strokes imitate a glow. Rendering a blur filter would take longer than rendering the rest of the card.
      const glow = [16, 10, 5].map((width) =>
        textElement(
          line,
          style,
          `x="${LEFT}" y="${y}" fill="none" stroke="${INK.pink}" stroke-opacity=".13" stroke-width="${width}" stroke-linejoin="round"`,
        ),
      );
      return glow.join('') + text(line, LEFT, y, style, INK.text);
    })
    .join('');
}

/** Vertical center and height of the box that contains the balls, px. */
const BALL_BOX = { y: 297, height: 146 } as const;

/** Returns the radius of the balls, px, and the number of balls per row. */
function layout(count: number): { radius: number; perRow: number } {
  if (count <= 7) return { radius: 58, perRow: Math.max(count, 1) };
  if (count <= 10) return { radius: 45, perRow: count };
  return { radius: 31, perRow: Math.ceil(count / 2) };
}

const ballBox = () =>
  `<rect x="${LEFT}" y="${BALL_BOX.y - BALL_BOX.height / 2}" width="${WIDTH}" height="${BALL_BOX.height}" rx="${BALL_BOX.height / 2}" fill="#080218" fill-opacity=".6" stroke="#fff" stroke-opacity=".14" stroke-width="2"/>`;

function balls({ balls, isLit, badge }: Card): string {
  const { radius, perRow } = layout(balls.length);
  const pitch = Math.min((WIDTH - 56) / perRow, radius * 3.1);
  const rows = Math.ceil(balls.length / perRow);
  const placed = balls.map((number, i) => {
    const row = Math.floor(i / perRow);
    const inRow = Math.min(perRow, balls.length - row * perRow);
    const x = W / 2 + ((i % perRow) - (inRow - 1) / 2) * pitch;
    const y = BALL_BOX.y + (row - (rows - 1) / 2) * (radius * 2 + 6);
    const ball = isLit ? litBall(number, radius, i % BALLS.length) : glassBall(badge.tone === 'off' ? '–' : number, radius);
    return `<g transform="translate(${x.toFixed(1)} ${y})">${ball}</g>`;
  });
  return ballBox() + placed.join('');
}

function litBall(number: string, r: number, hue: number): string {
  const style: Style = { size: Math.round(r * (number.length > 2 ? 0.58 : 0.74)), weight: 800 };
  return `<circle r="${r * 1.42}" fill="url(#glow${hue})"/><circle r="${r}" fill="url(#ball${hue})"/><circle r="${r * 0.64}" fill="#fffdf5"/>
    <ellipse cx="${-r * 0.3}" cy="${-r * 0.74}" rx="${r * 0.3}" ry="${r * 0.12}" transform="rotate(-22)" fill="#fff" fill-opacity=".75"/>
    ${text(number, 0, style.size * 0.36, style, INK.dark, 'middle')}`;
}

function glassBall(number: string, r: number): string {
  const style: Style = { size: Math.round(r * 0.9), weight: 800 };
  return `<circle r="${r - 2}" fill="url(#glass)" stroke="#8d78c9" stroke-width="3"/>
    <ellipse cx="${-r * 0.3}" cy="${-r * 0.74}" rx="${r * 0.28}" ry="${r * 0.1}" transform="rotate(-22)" fill="#fff" fill-opacity=".28"/>
    ${text(number, 0, style.size * 0.36, style, '#a996dc', 'middle')}`;
}

function ticket(number: string, { isLit, badge }: Card): string {
  const [height, notch, stub] = [112, 15, 190];
  const label: Style = { size: 22, weight: 800, spacing: 4 };
  const shown = shrink(badge.tone === 'off' ? '–' : number, { size: 66, weight: 800 }, 400, 40);
  const wide = Math.max(460, Math.ceil(widthOf(shown.text, shown.style)) + stub + 110);
  const [x, y] = [(W - wide) / 2, BALL_BOX.y - height / 2];
  const bite = (at: number) => `<circle cx="${at}" cy="${BALL_BOX.y}" r="${notch}" fill="#0c0520"/>`;
  const ink = isLit ? INK.dark : '#a996dc';
  return `${ballBox()}${isLit ? `<ellipse cx="${W / 2}" cy="${BALL_BOX.y}" rx="${wide * 0.62}" ry="104" fill="url(#glow0)"/>` : ''}
    <rect x="${x}" y="${y}" width="${wide}" height="${height}" rx="14" fill="url(#${isLit ? 'ball0' : 'glass'})" ${isLit ? '' : 'stroke="#8d78c9" stroke-width="3"'}/>
    ${bite(x)}${bite(x + wide)}<path d="M${x + stub} ${y + 14}V${y + height - 14}" stroke="${ink}" stroke-opacity=".55" stroke-width="4" stroke-dasharray="3 9" stroke-linecap="round"/>
    ${text('WINNING', x + stub / 2 + 9, BALL_BOX.y - 6, label, ink, 'middle')}${text('TICKET', x + stub / 2 + 9, BALL_BOX.y + 24, label, ink, 'middle')}
    ${text(shown.text, x + (wide + stub) / 2, BALL_BOX.y + shown.style.size * 0.36, shown.style, ink, 'middle')}`;
}

const LABEL: Style = { size: 20, weight: 800, spacing: 3 };
const VALUE: Style = { size: 38, weight: 800 };
/** Left edge and width of the columns of statistics, px. */
const COLUMNS = [
  { x: LEFT, width: 350 },
  { x: LEFT + 372, width: 136 },
  { x: LEFT + 530, width: LOWER_WIDTH - 530 },
] as const;

function stats({ stats, badge }: Card): string {
  return COLUMNS.map(({ x, width }, i) => {
    const { label, value } = stats[i] ?? { label: '', value: '' };
    const fitted = shrink(value, VALUE, width, 22);
    return text(label, x, 412, LABEL, INK.cyan) + text(fitted.text, x, 454, fitted.style, i === 0 && badge.tone !== 'off' ? INK.gold : INK.text);
  }).join('');
}

const RULE = `<path d="M${LEFT} 476H${LEFT + LOWER_WIDTH}" stroke="#fff" stroke-opacity=".16" stroke-width="2"/>`;

function winners({ winners }: Card): string {
  const style: Style = { size: winners.length > 2 ? 21 : 25, weight: 500 };
  const wide = LOWER_WIDTH / winners.length;
  const medals = [INK.gold, '#d7dcec', '#e8a06a'];
  const after = winners.map(({ wallet }) => 40 + widthOf(wallet, style) + 14);
  const prizes = winners.map(({ prize }, i) => shrink(prize, { ...style, weight: 800 }, wide - 16 - (after[i] ?? 0), 17));
  // All prizes have the same font size: the size of the prize that was reduced most.
  const size = Math.min(...prizes.map((prize) => prize.style.size));
  const shown = winners.map(({ place, wallet }, i) => {
    const x = LEFT + i * wide;
    const medal = `<circle cx="${x + 14}" cy="508" r="14" fill="${medals[i]}"/>${text(String(place), x + 14, 515, { size: 19, weight: 800 }, INK.dark, 'middle')}`;
    const prize = text(prizes[i]?.text ?? '', x + (after[i] ?? 0), 517, { weight: 800, size }, INK.gold);
    return medal + text(wallet, x + 40, 517, style, INK.text) + prize;
  });
  return RULE + shown.join('');
}

function note({ note }: Card): string {
  const fitted = shrink(note, { size: 27, weight: 500 }, LOWER_WIDTH, 18);
  return RULE + text(fitted.text, LEFT, 517, fitted.style, INK.text);
}

function footer({ proof, host }: Card): string {
  const style: Style = { size: 20, weight: 500 };
  const place = cut(host, style, 320);
  const room = LOWER_WIDTH - widthOf(place, style) - 30;
  return text(cut(proof, style, room), LEFT, 562, style, INK.dim) + text(place, LEFT + LOWER_WIDTH, 562, { ...style, weight: 800 }, INK.pink, 'end');
}

function code({ link }: Card): string {
  const label: Style = { size: 15, weight: 800, spacing: 2 };
  const middle = CODE.x + CODE.size / 2;
  return `${qrCode(link, CODE.x, CODE.y, CODE.size, { dark: INK.dark, light: '#fffdf5' })}${text('SCAN TO CHECK', middle, CODE.y + CODE.size + 20, label, INK.cyan, 'middle')}`;
}
