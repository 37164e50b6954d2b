import type { Line } from './board-lines.ts';

const MOVE = { duration: 350, easing: 'cubic-bezier(.2,.8,.3,1)' } as const;
const FLASH_MS = 900;
/** Changes that follow each other faster than this do not flash, ms: so many flashes would say nothing, and cost frames. */
const CALM_MS = 400;

const isCalm = matchMedia('(prefers-reduced-motion: reduce)');

/** A movement of a line: it begins `from` lines away from its place. */
interface Move {
  readonly animation: Animation;
  readonly from: number;
}

/**
 * Returns a function that moves the lines of a board from their old places to the new ones after each rendering. All lines have the same height, so a
 * distance is a percentage of it. Only lines within the window move; a line that is still moving goes on from where it is.
 */
export function createMotion(): (list: HTMLElement, lines: readonly Line[]) => void {
  const moves = new WeakMap<Element, Move>();
  let before: ReadonlyMap<string, { readonly index: number; readonly score: number }> = new Map();
  let last = 0;

  function move(row: Element, way: number): void {
    const old = moves.get(row);
    // `progress` follows the easing, so this is where the line is now, without a measurement.
    const progress = old?.animation.effect?.getComputedTiming().progress ?? 1;
    const from = way + (old ? old.from * (1 - progress) : 0);
    old?.animation.cancel();
    moves.set(row, { from, animation: row.animate([{ transform: `translateY(${from * 100}%)` }, { transform: 'none' }], MOVE) });
  }

  return (list, lines) => {
    const old = before;
    before = new Map(lines.map(({ wallet, score }, index) => [wallet, { index, score }]));
    const time = performance.now();
    const flashes = time - last > CALM_MS;
    last = time;
    if (old.size === 0 || isCalm.matches || document.hidden) return;
    const { top, height } = list.getBoundingClientRect();
    const rowHeight = height / lines.length;
    const isSeen = (index: number) => top + (index + 1) * rowHeight > 0 && top + index * rowHeight < innerHeight;
    for (const [index, { wallet, score }] of lines.entries()) {
      const row = list.children[index];
      const was = old.get(wallet);
      if (!row || !isSeen(index)) continue;
      const way = (was?.index ?? lines.length) - index;
      if (way !== 0) move(row, way);
      if (flashes && was?.score !== score) row.animate([{ backgroundColor: 'var(--flash)' }, {}], FLASH_MS);
    }
  };
}
