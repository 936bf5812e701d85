import cuprous as cp
a = cp.arange(1000000)
b = cp.arange(1000000)
c = a + b
print(c[:10])
