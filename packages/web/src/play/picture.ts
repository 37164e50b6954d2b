import { COLUMNS, ROWS } from './run.ts';

/** Cells of the pieces by kind, before any rotation: column and row. */
const SHAPES: readonly (readonly (readonly [number, number])[])[] = [
  [
    [0, 1],
    [1, 1],
    [2, 1],
    [3, 1],
  ],
  [
    [0, 0],
    [0, 1],
    [1, 1],
    [2, 1],
  ],
  [
    [2, 0],
    [0, 1],
    [1, 1],
    [2, 1],
  ],
  [
    [1, 0],
    [2, 0],
    [1, 1],
    [2, 1],
  ],
  [
    [1, 0],
    [2, 0],
    [0, 1],
    [1, 1],
  ],
  [
    [1, 0],
    [0, 1],
    [1, 1],
    [2, 1],
  ],
  [
    [0, 0],
    [1, 0],
    [1, 1],
    [2, 1],
  ],
];

/** Colours of a picture, from the style sheet. */
interface Palette {
  readonly well: string;
  readonly grid: string;
  readonly edge: string;
  readonly pieces: readonly string[];
}

function paletteOf(canvas: HTMLCanvasElement): Palette {
  const style = getComputedStyle(canvas);
  const color = (name: string) => style.getPropertyValue(name).trim();
  return { well: color('--well'), grid: color('--grid'), edge: color('--edge'), pieces: [1, 2, 3, 4, 5, 6, 7].map((i) => color(`--piece-${i}`)) };
}

/** A canvas of equal cells. It keeps the resolution of the screen and the colours of the chosen scheme. */
export class CellCanvas {
  readonly #canvas: HTMLCanvasElement;
  readonly #columns: number;
  readonly #rows: number;
  readonly #stop = new AbortController();
  readonly #observer: ResizeObserver;
  #palette: Palette;
  #cells: Uint8Array;

  constructor(canvas: HTMLCanvasElement, columns: number, rows: number) {
    this.#canvas = canvas;
    this.#columns = columns;
    this.#rows = rows;
    this.#cells = new Uint8Array(columns * rows);
    this.#palette = paletteOf(canvas);
    this.#observer = new ResizeObserver(() => this.#resize());
    this.#observer.observe(canvas);
    const recolor = () => {
      this.#palette = paletteOf(canvas);
      this.#paint();
    };
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', recolor, { signal: this.#stop.signal });
  }

  close(): void {
    this.#observer.disconnect();
    this.#stop.abort();
  }

  /** Shows cells: 0 is empty, otherwise the kind of the piece plus 1. Paints only when a cell changed. */
  show(cells: Uint8Array): void {
    if (cells.every((cell, i) => cell === this.#cells[i])) return;
    this.#cells = cells.slice();
    this.#paint();
  }

  #resize(): void {
    const { clientWidth, clientHeight } = this.#canvas;
    this.#canvas.width = Math.round(clientWidth * devicePixelRatio);
    this.#canvas.height = Math.round(clientHeight * devicePixelRatio);
    this.#paint();
  }

  #paint(): void {
    const context = this.#canvas.getContext('2d');
    if (!context) return;
    const { width, height } = this.#canvas;
    const { well, grid, edge, pieces } = this.#palette;
    context.fillStyle = well;
    context.fillRect(0, 0, width, height);
    // The edges of cells are whole pixels, so that they are sharp at every resolution.
    const x = (column: number) => Math.round((column * width) / this.#columns);
    const y = (row: number) => Math.round((row * height) / this.#rows);
    const line = Math.max(1, Math.round(devicePixelRatio));
    context.fillStyle = grid;
    for (let column = 1; column < this.#columns; column++) context.fillRect(x(column), 0, line, height);
    for (let row = 1; row < this.#rows; row++) context.fillRect(0, y(row), width, line);
    for (const [i, cell] of this.#cells.entries()) {
      if (cell === 0) continue;
      const [column, row] = [i % this.#columns, Math.floor(i / this.#columns)];
      const [left, top, right, bottom] = [x(column), y(row), x(column + 1), y(row + 1)];
      context.fillStyle = edge;
      context.fillRect(left, top, right - left, bottom - top);
      context.fillStyle = pieces[cell - 1] ?? '';
      context.fillRect(left + line, top + line, right - left - 2 * line, bottom - top - 2 * line);
      // A lighter upper edge gives each cell the look of a button.
      context.fillStyle = 'rgb(255 255 255 / 35%)';
      context.fillRect(left + line, top + line, right - left - 2 * line, 3 * line);
    }
  }
}

export const boardCanvas = (canvas: HTMLCanvasElement): CellCanvas => new CellCanvas(canvas, COLUMNS, ROWS);

/** Shows a piece on a canvas of 4 × 2 cells. */
export function showPiece(canvas: CellCanvas, kind: number): void {
  const cells = new Uint8Array(8);
  for (const [column, row] of SHAPES[kind] ?? []) cells[row * 4 + column] = kind + 1;
  canvas.show(cells);
}
