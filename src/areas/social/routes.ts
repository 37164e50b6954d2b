import type { AnyRoute } from '../../http/route.ts';

/** The endpoints of linking accounts, by who may call them. */
export const socialRoutes: { readonly public: readonly AnyRoute[]; readonly session: readonly AnyRoute[] } = { public: [], session: [] };
