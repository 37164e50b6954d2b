import type { AnyRoute } from '../../http/route.ts';

export const clipRoutes: { readonly public: readonly AnyRoute[]; readonly session: readonly AnyRoute[]; readonly admin: readonly AnyRoute[] } = {
  public: [],
  session: [],
  admin: [],
};
