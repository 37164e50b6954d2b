import type { App } from '../../context.ts';

/** Takes battles further whose time has come. */
export async function advanceBattles(_app: App): Promise<void> {}
