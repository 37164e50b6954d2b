import { expect, test } from '@jest/globals';
import { applyChanges, type Change, type Line } from '#packages/web/src/boards/board-lines.ts';

const line = (wallet: string, score: number, rank: number, name: string | null = null): Line => ({ wallet, score, rank, name });
const change = (wallet: string, score: number | null): Change => ({ wallet, score, rank: null });
const BOARD = [line('c', 30, 1, 'carl'), line('b', 20, 2), line('a', 10, 3)];

test('a better score moves a line up and keeps its name', () => {
  const { lines, isIncomplete } = applyChanges(BOARD, [change('a', 25), change('c', 5)], 3);
  expect(lines).toEqual([line('a', 25, 1), line('b', 20, 2), line('c', 5, 3, 'carl')]);
  // A wallet that the page does not know may be above the lowest line.
  expect(isIncomplete).toBe(true);
});

test('equal scores share a rank, the following ranks are skipped, and addresses are sorted descending', () => {
  expect(applyChanges(BOARD, [change('a', 20), change('d', 20)], 10).lines.map(({ wallet, rank }) => [wallet, rank])).toEqual([
    ['c', 1],
    ['d', 2],
    ['b', 2],
    ['a', 2],
  ]);
});

test('a wallet that left the board disappears, and a full board must be read again', () => {
  expect(applyChanges(BOARD, [change('b', null)], 3)).toEqual({ lines: [line('c', 30, 1, 'carl'), line('a', 10, 2)], isIncomplete: true });
  expect(applyChanges(BOARD, [change('b', null)], 10).isIncomplete).toBe(false);
});

test('a new wallet below the last line of a full board changes nothing', () => {
  expect(applyChanges(BOARD, [change('e', 5)], 3)).toEqual({ lines: BOARD, isIncomplete: false });
});

test('a new wallet has no name yet, so the board must be read again', () => {
  expect(applyChanges(BOARD, [change('e', 40)], 3)).toEqual({
    lines: [line('e', 40, 1), line('c', 30, 2, 'carl'), line('b', 20, 3)],
    isIncomplete: true,
  });
});

test('lines that keep their place and score stay the same objects', () => {
  const { lines } = applyChanges(BOARD, [change('a', 15)], 3);
  expect(lines[0]).toBe(BOARD[0]);
  expect(lines[1]).toBe(BOARD[1]);
});

test('many random changes give the board that a sort of all scores gives', () => {
  let seed = 7;
  const random = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return seed % below;
  };
  const scores = new Map<string, number>();
  let lines: readonly Line[] = [];
  for (let step = 0; step < 500; step++) {
    const wallet = `w${random(30)}`;
    const score = random(5) === 0 ? null : random(20);
    if (score === null) scores.delete(wallet);
    else scores.set(wallet, score);
    lines = applyChanges(lines, [change(wallet, score)], 100).lines;
    const sorted = [...scores].sort(([a, x], [b, y]) => y - x || (a < b ? 1 : -1));
    expect(lines.map(({ wallet, score, rank }) => [wallet, score, rank])).toEqual(
      sorted.map(([wallet, score]) => [wallet, score, 1 + sorted.filter(([, other]) => other > score).length]),
    );
  }
});
