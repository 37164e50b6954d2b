import type { closePeriods as job } from '../jobs/upkeep.ts';
import type { Handler } from './handler.ts';

export const closePeriods: Handler<typeof job> = async () => {};
