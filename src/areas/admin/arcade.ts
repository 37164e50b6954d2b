import type { AnyRoute } from '../../http/route.ts';

/** Theme, one-time events, possession of cabinets. */
export const arcadeOperations: readonly AnyRoute[] = [];
