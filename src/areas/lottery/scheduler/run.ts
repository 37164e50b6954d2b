import type { App } from '../../../context.ts';

/** Starts the next round of the schedule where it is due. */
export async function runScheduler(_app: App): Promise<void> {}
