import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import { Resvg } from '@resvg/resvg-js';
import type { Card } from './card.ts';
import { drawCard } from './svg.ts';
import { RENDERING } from './text.ts';

/** Renders the cards that the thread was given, one after the other, and answers each with its PNG. */
function render(cards: readonly Card[]): void {
  for (const card of cards) parentPort?.postMessage(new Uint8Array(new Resvg(drawCard(card), RENDERING).render().asPng()));
}

if (!isMainThread) render(workerData);
