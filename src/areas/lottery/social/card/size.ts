/** Of a card, px: what networks show whole beside a link. A file of its own, so that the thread that draws loads nothing else. */
export const CARD_SIZE = { width: 1_200, height: 630 } as const;
