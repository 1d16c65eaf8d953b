import { describeGateway, gatewayCells } from './gateway-cells.ts';

describeGateway(gatewayCells);
