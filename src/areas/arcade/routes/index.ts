import { cabinetRoutes } from './cabinets.ts';
import { playRoutes } from './plays.ts';
import { recordRoutes } from './records.ts';
import { registryRoutes } from './registry.ts';
import { stateRoutes } from './states.ts';

/** The arcade's endpoints, by who may call them. */
export const arcadeRoutes = {
  public: [...registryRoutes, ...cabinetRoutes],
  session: [...playRoutes, ...stateRoutes, ...recordRoutes],
};
