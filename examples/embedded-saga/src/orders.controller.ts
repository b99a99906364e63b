import { BadRequestException, Body, Controller, Get, HttpCode, NotFoundException, Param, Post } from '@nestjs/common';
import { readOrder } from './order.js';
import { OrdersService, type OrderView } from './orders.service.js';

@Controller('orders')
export class OrdersController {
  constructor(private readonly orders: OrdersService) {}

  /** Accepted: the saga goes on by itself, and GET tells how far it is. */
  @Post()
  @HttpCode(202)
  place(@Body() body: unknown): Promise<OrderView> {
    const read = readOrder(body);
    if ('problems' in read) throw new BadRequestException({ message: 'this is no order', problems: read.problems });
    return this.orders.place(read.order);
  }

  @Get(':orderId')
  async get(@Param('orderId') orderId: string): Promise<OrderView> {
    const order = await this.orders.get(orderId);
    if (order === undefined) throw new NotFoundException(`there is no order ${orderId}`);
    return order;
  }
}
