import type { expire as job } from '../jobs/upkeep.ts';
import type { Handler } from './handler.ts';

export const expire: Handler<typeof job> = async () => {};
