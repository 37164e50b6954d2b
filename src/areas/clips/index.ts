/** The public API of clips: removals, and the sweep of removed and abandoned uploads. */
export { isRemovedClip, removeClip, removeClipsOf } from './remove.ts';
export { sweepClips } from './sweep.ts';
