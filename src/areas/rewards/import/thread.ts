import { serve } from '#platform/threads/worker-thread.ts';
import { DistributionReader } from './distribution.ts';

/** Worker thread that parses one distribution. */
serve(new DistributionReader());
