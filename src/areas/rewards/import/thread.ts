import { serve } from '../threads.ts';
import { DistributionReader } from './distribution.ts';

/** A thread that reads one distribution. */
serve(new DistributionReader());
