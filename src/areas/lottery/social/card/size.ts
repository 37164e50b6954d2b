/**
 * Size of a card, px. Social networks show this size uncropped. The constant is in its own file, so that the worker thread loads no other modules.
 */
export const CARD_SIZE = { width: 1_200, height: 630 } as const;
