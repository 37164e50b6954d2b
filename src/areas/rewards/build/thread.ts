import { serve } from '../threads.ts';
import { EpochBuilder } from './builder.ts';

/** A thread that builds one epoch. */
serve(new EpochBuilder());
