import type { App } from '../../context.ts';

/** Ends burn events whose time is over. */
export async function endBurnEvents(_app: App): Promise<void> {}

/** Reads the burns that are final on the chain since the last one that was read. */
export async function watchBurns(_app: App): Promise<void> {}
