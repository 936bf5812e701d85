/* What another library asks for. */
int cuprous_stand_in;
