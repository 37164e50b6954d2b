import type { App } from '../../../context.ts';

/** Takes a round as far as it can go now. Harmless when run twice, by anyone, at any time. */
export async function advanceRound(_app: App, _round: string): Promise<void> {
  throw new Error('to be built');
}

/** Rings for rounds that can go on. */
export async function sweepRounds(_app: App): Promise<void> {}
