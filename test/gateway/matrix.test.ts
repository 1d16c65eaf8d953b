import { cellsOf, describeBridge } from './cells.ts';

describeBridge(cellsOf([['in process', 'in process']]));
