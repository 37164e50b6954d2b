import { COLUMNS, ROWS, type Standings } from './run.ts';

/** Names of the pieces by kind. */
export const PIECES = ['I', 'J', 'L', 'O', 'S', 'T', 'Z'] as const;

/** Returns a sentence about the score for screen readers. */
export const standingsText = ({ score, lines, level, next, secondsLeft }: Standings): string =>
  `Score ${score}, ${lines} ${lines === 1 ? 'line' : 'lines'}, level ${level}. Next piece ${PIECES[next] ?? ''}. ${secondsLeft} seconds left.`;

/** Returns a sentence about the board for screen readers: the height of the filled cells in each column. The falling piece counts too. */
export function boardText(cells: Uint8Array): string {
  const heights = Array.from({ length: COLUMNS }, (_, column) => {
    const top = Array.from({ length: ROWS }, (_row, row) => row).find((row) => cells[row * COLUMNS + column] !== 0);
    return top === undefined ? 0 : ROWS - top;
  });
  return `Highest filled cell of each column from the left: ${heights.join(', ')}.`;
}
