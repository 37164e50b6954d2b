/** The public API of clips: the sweep of removed and abandoned uploads. */
export { sweepClips } from './sweep.ts';
