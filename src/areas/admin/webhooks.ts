import type { AnyRoute } from '../../http/route.ts';

/** What came by webhook, what became of it, and having it worked on again. */
export const webhookOperations: readonly AnyRoute[] = [];
