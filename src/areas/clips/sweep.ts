import type { App } from '../../context.ts';

/** Removes media that no clip names: of uploads that were cut off, and of deleted clips. */
export async function sweepClips(_app: App): Promise<void> {}
