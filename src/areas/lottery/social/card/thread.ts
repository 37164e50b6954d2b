import { Resvg } from '@resvg/resvg-js';
import { serve } from '#platform/threads/worker-thread.ts';
import type { Card } from './card.ts';
import { drawCard } from './svg.ts';
import { RENDERING } from './text.ts';

/** The worker thread that renders cards as PNG. */
const renderer = {
  render: (card: Card) => new Uint8Array(new Resvg(drawCard(card), RENDERING).render().asPng()),
};
export type CardRenderer = typeof renderer;

serve(renderer);
