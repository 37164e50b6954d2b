import { serve } from '#platform/threads/worker-thread.ts';
import { DistributionReader } from './distribution.ts';

/** A thread that reads one distribution. */
serve(new DistributionReader());
