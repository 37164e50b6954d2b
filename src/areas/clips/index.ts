/** The door of clips. */
export { sweepClips } from './sweep.ts';
